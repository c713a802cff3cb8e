"""The Grafana dashboard and the Prometheus rules: they load, and name only what the agent tells."""
import json
import pathlib
import re
import shutil
import subprocess

import pytest
import yaml

from agent_server import serving

ROOT = pathlib.Path(__file__).resolve().parents[2]
DASHBOARD = json.loads((ROOT / "integrations/grafana/joulery.json").read_text(encoding="utf-8"))
RULES = ROOT / "integrations/prometheus/joulery.rules.yml"
METRIC = re.compile(r"\bjoulery_\w+")
needs_promtool = pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed")


@pytest.fixture(scope="module")
def told():
    """Every metric that the agent tells of a node that has everything, and its labels."""
    with serving("--listen", "127.0.0.1:0", "--tick", "100") as server:
        _, _, text = server.get("/metrics")
    labels = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, _, rest = line.partition("{")
            labels.setdefault(name.split()[0], set()).update(re.findall(r'(\w+)="', rest))
    return labels


def listed():
    """Every family of publish/node_metrics, as its source lists them."""
    source = (ROOT / "src/publish/node_metrics.cpp").read_text(encoding="utf-8")
    return set(re.findall(r'\{"(joulery_\w+)"', source))


def expressions():
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["name"], variable["query"]["query"]


def rules():
    return [rule for group in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"] for rule in group["rules"]]


def test_the_agent_tells_all_that_is_listed(told):
    assert listed() == set(told) and len(listed()) >= 12


def test_every_metric_is_explained(told):
    rows = re.findall(r"^\| `(joulery_\w+)` \| (\w+) \| ([^|]*)\|", (ROOT / "docs/api/metrics.md").read_text(encoding="utf-8"), re.MULTILINE)
    explained = {name: set(filter(None, labels.replace(" ", "").split(","))) for name, _, labels in rows}
    assert {name: labels for name, labels in explained.items() if not name.startswith("joulery_server_")} == told


def test_every_metric_of_a_model_server_is_explained():
    """They are told where the configuration names a server alone."""
    page = (ROOT / "docs/api/metrics.md").read_text(encoding="utf-8")
    listed_there = re.findall(r'\{"(joulery_server_\w+)"', (ROOT / "src/publish/server_metrics.cpp").read_text(encoding="utf-8"))
    assert len(listed_there) >= 8
    for name in listed_there:
        assert f"`{name}`" in page or f"`…{name.removeprefix('joulery_server_joules')}`" in page, name


def test_dashboard_has_what_grafana_needs():
    assert {"uid", "title", "schemaVersion", "panels", "templating", "time", "refresh", "tags"} <= DASHBOARD.keys()
    assert DASHBOARD["schemaVersion"] == 39
    assert [v["name"] for v in DASHBOARD["templating"]["list"]] == ["datasource", "job", "node", "kind"]
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))
    for panel in DASHBOARD["panels"]:
        assert panel["type"] in {"timeseries", "stat", "table"} and panel["title"] and panel["description"]
        assert panel["datasource"]["uid"] == "${datasource}" and panel["fieldConfig"]["defaults"]["unit"]
        assert len({t["refId"] for t in panel["targets"]}) == len(panel["targets"]) > 0


def test_panels_do_not_lie_on_each_other():
    taken = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24 and not cells & taken, panel["title"]
        taken |= cells


@pytest.mark.parametrize("where,text", [*expressions(), *((r.get("alert") or r["record"], r["expr"]) for r in rules())])
def test_only_what_the_agent_tells_is_named(told, where, text):
    names = set(METRIC.findall(text))
    assert names or "up" in text or "joulery:" in text, where
    assert names <= set(told), where
    known = set().union(*(told[name] for name in names), {"job", "instance", "le"})
    used = set(re.findall(r'(\w+)(?:=~|!=|!~|=)"', text)) | {w for by in re.findall(r"(?:by|on) \(([^)]*)\)", text) for w in re.split(r",\s*", by)}
    assert used <= known, where


def test_variables_are_there():
    names = {v["name"] for v in DASHBOARD["templating"]["list"]}
    for where, text in expressions():
        used = set(re.findall(r"\$(\w+)", text)) - {"__range", "__rate_interval"}
        assert used <= names, where


def test_no_rate_counts_what_others_leave_behind():
    # "(other)" takes over what lines that have gone had used: it must not be in a rate.
    for where, text in expressions():
        if re.search(r"(rate|increase)\(joulery_consumer_joules_total", text):
            assert 'name!="(other)"' in text, where


def test_the_threshold_is_the_one_of_the_label():
    rule = next(r for r in rules() if r.get("alert") == "JouleryPowerAboveThreshold")
    assert rule["expr"].endswith("> " + rule["labels"]["threshold_watts"])


@needs_promtool
def test_every_expression_is_promql(tmp_path):
    """promtool reads the dashboard's expressions as recording rules."""
    written = [re.sub(r"\$(__range|__rate_interval)", "5m", text) for _, text in expressions() if not text.startswith("label_values")]
    book = {"groups": [{"name": "g", "rules": [{"record": f"r{i}", "expr": text} for i, text in enumerate(written)]}]}
    (tmp_path / "dashboard.yml").write_text(yaml.safe_dump(book), encoding="utf-8")
    done = subprocess.run(["promtool", "check", "rules", "dashboard.yml"], cwd=tmp_path, text=True, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_promtool_takes_the_rules():
    done = subprocess.run(["promtool", "check", "rules", str(RULES)], text=True, capture_output=True, timeout=60)
    assert done.returncode == 0 and f"{len(rules())} rules found" in done.stdout, done.stdout + done.stderr


@needs_promtool
def test_rules_fire_when_they_should_and_not_else(tmp_path):
    shutil.copy(RULES, tmp_path)
    shutil.copy(ROOT / "tests/e2e/joulery_rules_test.yml", tmp_path)
    done = subprocess.run(["promtool", "test", "rules", "joulery_rules_test.yml"], cwd=tmp_path, text=True, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
