"""What the agent's server answers, held against docs/api/openapi.yaml and judged by independent readers of its formats."""
import collections
import contextlib
import copy
import decimal
import json
import re
import shutil
import subprocess

import jsonschema
import pytest
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client import parser as prometheus

from agent_server import OPENAPI, TOKEN, Server, check, schema_of, serving
from conftest import built, clean_environment

ROUNDED = {}
TRUSTED = {"Authorization": f"Bearer {TOKEN}"}
EXAMPLES = {
    "/api/v1/node": [""],
    "/api/v1/consumers": ["", "?kind=process", "?kind=process,user&top=1&sort=watts", "?sort=name", "?kind=idle,unattributed"],
    "/api/v1/meters": [""],
    "/api/v1/servers": [""],
    "/api/v1/health": [""],
    "/api/v1/query": ["?series=joulery_component_watts&from=-10s&step=1s",
                      "?series=joulery_component_watts&match=component=node/cpu/package-0&from=2026-03-01T10:00:00Z&to=2026-03-01T11:00:00Z",
                      "?series=joulery_component_watts&match=component%3Dnobody"],
}


@pytest.fixture(scope="module")
def server():
    with serving("--listen", "127.0.0.1:0", "--tick", "100", token=TOKEN) as one:
        yield one


def test_the_description_is_valid_itself():
    assert OPENAPI["openapi"].startswith("3.1")
    for name, schema in OPENAPI["components"]["schemas"].items():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert name == "error" or any(name in text for text in re.findall(r"#/components/schemas/(\w+)", json.dumps(OPENAPI))), name


def test_every_path_that_there_is_is_described_and_the_other_way_round(server):
    _, _, text = server.get("/")
    assert {line.split()[0] for line in text.splitlines()[2:]} == set(OPENAPI["paths"])


@pytest.mark.parametrize("reader", [ROUNDED, TRUSTED], ids=["anyone", "token"])
@pytest.mark.parametrize("path", EXAMPLES)
def test_answers_fit_the_description(server, path, reader):
    for query in EXAMPLES[path]:
        answer = server.json(path + query, **reader)
        check(answer, schema_of(path))
        assert answer.get("rounded") in (None, not reader) or path.endswith("query")


def test_the_check_would_notice(server):
    node = server.json("/api/v1/node")
    for spoil in (lambda n: n.pop("joules"), lambda n: n.update(extra=1), lambda n: n["components"][0].update(quality="good"),
                  lambda n: n["idle"].pop("reason")):
        bad = copy.deepcopy(node)
        spoil(bad)
        with pytest.raises(jsonschema.ValidationError):
            check(bad, schema_of("/api/v1/node"))


@pytest.mark.parametrize("status,path,words", [
    (404, "/api/v1/nodes", "did you mean /api/v1/node?"),
    (400, "/api/v1/consumers?kind=proces", "did you mean 'process'?"),
    (400, "/api/v1/consumers?top=0", "whole number"),
    (400, "/api/v1/consumers?top=-1", "whole number"),
    (400, "/api/v1/consumers?sort=size", "joules, watts"),
    (400, "/api/v1/node?x=1", "takes none"),
    (400, "/api/v1/query", "series="),
    (400, "/api/v1/query?series=a%20b", "names them"),
    (400, "/api/v1/query?series=a&from=yesterday", "Unix seconds"),
    (400, "/api/v1/query?series=a&from=5&to=4", "before to"),
    (400, "/api/v1/query?series=a&from=-1d&step=1s", "longer steps"),
    (400, "/api/v1/query?series=a&step=1ms", "1s or more"),
    (400, "/api/v1/query?series=a&match=b", "match="),
    (400, "/api/v1/query?series=%zz", ""),
    (404, "/api/v1/query?series=joulery_nothing", "joulery_component_watts"),
])
def test_errors_say_what_where_and_what_to_do(server, status, path, words):
    answer = server.json(path, status=status)
    check(answer, schema_of("/api/v1/node", status=400))
    assert answer["error"]["what"]
    assert words in json.dumps(answer)


def test_only_get_and_head(server):
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        status, headers, text = server.get("/api/v1/node", method=method)
        assert (status, headers["Allow"]) == (405, "GET, HEAD"), text
    status, headers, text = server.get("/api/v1/node", method="HEAD")
    assert status == 200 and text == "" and int(headers["Content-Length"]) > 100


def test_nothing_is_given_to_other_origins(server):
    _, headers, _ = server.get("/api/v1/node", Origin="https://example.org")
    assert not [name for name in headers if name.lower().startswith("access-control")]
    assert headers["Cache-Control"] == "no-store" and headers["X-Content-Type-Options"] == "nosniff"


def exact(server, path, reader):
    return json.loads(server.get(path, **reader)[2], parse_float=decimal.Decimal)


@pytest.mark.parametrize("reader", [ROUNDED, TRUSTED], ids=["anyone", "token"])
def test_rows_sum_to_the_node_to_the_microjoule(server, reader):
    answer = exact(server, "/api/v1/consumers", reader)
    sums = collections.Counter()
    for row in answer["rows"]:
        sums[row["kind"]] += row["joules"]
        assert sum(row["components"].values()) == row["joules"]
    shared = sums.pop("idle") + sums.pop("unattributed")
    assert set(sums) == {"process", "container", "user"}
    for kind, joules in sums.items():
        assert joules + shared == answer["joules"], kind


def test_rows_that_are_left_out_are_summed(server):
    whole = exact(server, "/api/v1/consumers?kind=process", TRUSTED)
    part = exact(server, "/api/v1/consumers?kind=process&top=1", TRUSTED)
    assert part["others"][0]["count"] == len(whole["rows"]) - 1
    assert part["rows"][0]["name"] == "python[4711]"
    # Between the two answers only python[4711] grows.
    assert part["others"][0]["joules"] == sum(r["joules"] for r in whole["rows"] if r["name"] != "python[4711]")


def test_what_is_not_known_is_null_with_a_reason(server):
    gpu = [c for c in server.json("/api/v1/node")["components"] if c["component"] == "node/gpu/0"][0]
    assert gpu["watts"] is None and gpu["reason"] == "the driver does not answer" and gpu["meter"] is None
    points = server.json("/api/v1/query?series=joulery_component_watts&from=-10s&step=1s", **TRUSTED)["result"][0]
    assert points["points"][4][1] is None and points["reason"]
    assert [p[1] for p in points["points"][:4]] == [20, 20.25, 20.5, 20.75]


# ---- metrics -----------------------------------------------------------------------------------------------------

OPENMETRICS = {"Accept": "application/openmetrics-text; version=1.0.0"}


def families(server, reader, accept=None):
    _, headers, text = server.get("/metrics", **reader, **(accept or {}))
    if accept:
        assert headers["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
        return {f.name: f for f in openmetrics.text_string_to_metric_families(text)}, text
    assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    return {f.name: f for f in prometheus.text_string_to_metric_families(text)}, text


def test_both_formats_say_the_same(server):
    plain, _ = families(server, TRUSTED)
    opened, text = families(server, TRUSTED, OPENMETRICS)
    assert text.endswith("# EOF\n")
    assert set(plain) == set(opened)
    units = {"joules", "watts", "seconds", "bytes"}
    for name, family in opened.items():
        assert family.type == plain[name].type and family.documentation == plain[name].documentation
        assert family.unit == (name.rsplit("_", 1)[1] if name.rsplit("_", 1)[1] in units else "")
        assert [s.labels for s in family.samples] == [s.labels for s in plain[name].samples]


def test_hostile_names_arrive_whole(server):
    opened, _ = families(server, TRUSTED, OPENMETRICS)
    names = {s.labels["name"] for s in opened["joulery_consumer_joules"].samples if s.labels["kind"] == "process"}
    assert 'a "b\\c\nd[12]' in names


@pytest.mark.parametrize("reader", [ROUNDED, TRUSTED], ids=["anyone", "token"])
def test_metrics_conserve_energy_to_the_last_digit(server, reader):
    _, text = families(server, reader)
    component, kinds = collections.Counter(), collections.defaultdict(collections.Counter)
    for line in text.splitlines():
        if match := re.match(r'joulery_component_joules_total\{component="([^"]*)".*\} (\S+)$', line):
            component[match[1]] += decimal.Decimal(match[2])
        if match := re.match(r'joulery_consumer_joules_total\{component="([^"]*)",kind="([^"]*)".*\} (\S+)$', line):
            kinds[match[2]][match[1]] += decimal.Decimal(match[3])
    assert len(component) == 3
    for kind in ("process", "container", "user"):
        for name, joules in component.items():
            assert kinds[kind][name] + kinds["idle"][name] + kinds["unattributed"][name] == joules


def test_counters_never_fall(server):
    before = {}
    for _ in range(15):
        plain, _ = families(server, ROUNDED)
        for family in plain.values():
            for sample in family.samples if family.type == "counter" else []:
                key = (sample.name, tuple(sorted(sample.labels.items())))
                assert before.get(key, 0) <= sample.value, key
                before[key] = sample.value


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed")
def test_promtool_finds_no_fault(server):
    _, text = families(server, TRUSTED)
    done = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


# ---- what is told to whom ----------------------------------------------------------------------------------------


def test_without_the_token_figures_are_rounded(server):
    answer = exact(server, "/api/v1/consumers", ROUNDED)
    assert answer["rounded"] is True
    for row in answer["rows"]:
        assert row["joules"] % decimal.Decimal("0.1") == 0 and decimal.Decimal(str(row["watts"])) % decimal.Decimal("0.1") == 0
    fine = exact(server, "/api/v1/consumers", TRUSTED)
    assert fine["rounded"] is False
    assert any(row["joules"] % decimal.Decimal("0.1") != 0 for row in fine["rows"])


def changes(server, reader, asks):
    seen = []
    for _ in range(asks):
        text = server.get("/api/v1/consumers?kind=process", **reader)[2]
        if text not in seen:
            seen.append(text)
    return len(seen)


def test_without_the_token_the_account_changes_once_a_second_at_most():
    # Ticks of 5 ms; by the node's own time each tick is a second, by the clock of whoever asks they are many.
    with serving("--listen", "127.0.0.1:0", "--tick", "5", token=TOKEN) as server:
        first = server.json("/api/v1/node")["seconds"]
        fine = server.json("/api/v1/node", **TRUSTED)["seconds"]
        while server.json("/api/v1/node", **TRUSTED)["seconds"] < fine + 10:
            pass
        asked, last = 0, first
        while last == first:
            asked += 1
            last = server.json("/api/v1/node")["seconds"]
        skipped = last - first
        assert skipped >= 10, "the rounded account followed the ticks"


def test_a_wrong_token_is_refused(server):
    for header in (f"Bearer {TOKEN[:-1]}", "Bearer ", f"Basic {TOKEN}", f"Bearer {TOKEN} "[:-2]):
        status, headers, text = server.get("/api/v1/node", Authorization=header)
        assert status == 401 and headers["WWW-Authenticate"].startswith("Bearer"), header
        assert TOKEN not in text
    assert server.get("/api/v1/node", Authorization=f"bearer {TOKEN}")[0] == 200


# ---- events ------------------------------------------------------------------------------------------------------


def read_events(answer, count):
    events, event = [], {}
    while len(events) < count:
        line = answer.readline().decode().rstrip("\n")
        if line.startswith(":") or (not line and "data" not in event):
            event = {}
        elif line:
            name, _, value = line.partition(": ")
            event[name] = value
        else:
            events.append(event)
            event = {}
    return events


def test_events_follow_the_ticks(server):
    with contextlib.closing(server.connection()) as connection:
        connection.request("GET", "/api/v1/events?kind=user&top=1", headers=TRUSTED)
        answer = connection.getresponse()
        assert answer.status == 200 and answer.headers["Content-Type"].startswith("text/event-stream")
        events = read_events(answer, 4)
    ids = [int(e["id"]) for e in events]
    assert ids == sorted(set(ids))
    for event in events:
        assert event["event"] == "tick"
        data = json.loads(event["data"])
        check(data, schema_of("/api/v1/events", kind="text/event-stream"))
        assert [row["name"] for row in data["rows"]] == ["ada"] and data["others"][0]["kind"] == "user"
    assert json.loads(events[-1]["data"])["joules"] > json.loads(events[0]["data"])["joules"]


# ---- the agent itself --------------------------------------------------------------------------------------------


@pytest.mark.skipif(not built("joulery-agent"), reason="joulery-agent is not built")
def test_the_agent_itself_answers_as_described(tmp_path):
    words = [str(built("joulery-agent")), "--listen", "127.0.0.1:0", "--store", str(tmp_path / "store"), "--interval", "250ms"]
    agent = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=clean_environment(tmp_path))
    try:
        addresses = re.findall(r"https?://[^\s,;]+", agent.stdout.readline())
        server = Server(agent, addresses)
        while server.get("/api/v1/health")[0] == 503:
            pass
        for path, queries in EXAMPLES.items():
            for query in queries:
                check(server.json(path + query), schema_of(path))
        text = server.get("/metrics", Accept="application/openmetrics-text")[2]
        families = {family.name for family in openmetrics.text_string_to_metric_families(text)}
        assert {"joulery_component_joules", "joulery_consumer_joules", "joulery_build_info"} <= families
        answer = exact(server, "/api/v1/consumers", ROUNDED)
        sums = collections.Counter()
        for row in answer["rows"]:
            sums[row["kind"]] += row["joules"]
        shared = sums.pop("idle", 0) + sums.pop("unattributed", 0)
        assert {"process", "user"} <= set(sums)
        for kind, joules in sums.items():
            assert kind == "tag" or joules + shared == answer["joules"], kind
    finally:
        agent.terminate()
        assert agent.wait(timeout=60) == 0
