"""The agent and `joulery top` as users start them, on real processes: under the fake RAPL, so that what they split is measured."""
import decimal
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import urllib.request

import pytest

from conftest import Runner, built, clean_environment, one_line
from engines import VictoriaMetrics

TOKEN = "a-token-of-this-test-that-is-long-enough"
BURN = "while :; do :; done"
COUNTED = {"node/cpu/package-0", "node/dram/package-0"}
KINDS = ("process", "cgroup", "container", "pod", "unit", "job", "step", "user")


class Agent:
    """An agent in a home of its own, under the fake RAPL; `get` asks it with the token unless told otherwise."""

    def __init__(self, with_rapl, home, *words, store=None):
        program = built("joulery-agent")
        if program is None:
            pytest.skip("skipped: joulery-agent is not built")
        self.home, self.store = home, store or home / "store"
        environment = {**clean_environment(home), "AGENT_TOKEN": TOKEN}
        self.child = subprocess.Popen([*with_rapl, "--", str(built("joulery")), "agent", "--interval", "200ms", "--listen", "127.0.0.1:0", "--store",
                                       str(self.store), "--set", "agent.token_env=AGENT_TOKEN", *map(str, words)], env=environment,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.line = self.child.stdout.readline()
        found = re.search(r"http://[0-9.:]+", self.line)
        if not found:
            os.killpg(self.child.pid, signal.SIGKILL)
            raise AssertionError(f"no ready line: {self.line!r}; {self.child.communicate()[1]}")
        self.url = found.group(0)

    def get(self, path, token=True):
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"Bearer {TOKEN}"} if token else {})
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.read().decode()

    def json(self, path, **options):
        return json.loads(self.get(path, **options), parse_float=decimal.Decimal)

    def wait_for(self, condition, what):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                seen = condition()
            except (OSError, KeyError):
                seen = None
            if seen:
                return seen
            time.sleep(0.1)
        raise AssertionError(f"never saw {what}")

    def pid(self):
        """The agent's own: the process of that name among what the session holds."""
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and os.getsid(int(entry.name)) == self.child.pid and (entry / "comm").read_text().strip() == "joulery-agent":
                    return int(entry.name)
            except OSError:
                continue
        raise AssertionError("no agent runs")

    def stop(self):
        os.kill(self.pid(), signal.SIGTERM)
        out, err = self.child.communicate(timeout=60)
        return self.child.returncode, out, err

    def kill(self):
        if self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGKILL)
        self.child.communicate()


@pytest.fixture
def burner():
    """A busy loop."""
    child = subprocess.Popen(["sh", "-c", BURN])
    yield child
    child.kill()
    child.wait()


@pytest.fixture
def agent(with_rapl, tmp_path):
    started = Agent(with_rapl, tmp_path)
    yield started
    started.kill()


def sums_of(rows, kind):
    """Joules by component of one kind's rows."""
    sums = {}
    for one in rows:
        if one["kind"] == kind:
            for component, joules in one["components"].items():
                sums[component] = sums.get(component, 0) + joules
    return sums


def test_every_kind_sums_to_the_node_to_the_microjoule(agent, burner):
    agent.wait_for(lambda: agent.json("/api/v1/health")["ticks"] >= 8, "eight ticks")
    told = agent.json("/api/v1/consumers")
    rows = told["rows"]
    shared = sums_of(rows, "unattributed")
    idle = sums_of(rows, "idle")
    wholes = {kind: {c: sums_of(rows, kind).get(c, 0) + shared.get(c, 0) + idle.get(c, 0) for c in shared} for kind in KINDS}
    assert all(whole == wholes["process"] for whole in wholes.values()), wholes
    assert sum(wholes["process"].values()) == told["joules"] > 0
    assert agent.json("/api/v1/health")["violations"] == 0
    mine = [r for r in rows if r["kind"] == "process" and r["name"].endswith(f"[{burner.pid}]")]
    assert len(mine) == 1 and mine[0]["components"]["node/cpu/package-0"] > 0


def test_who_sleeps_on_memory_carries_its_share_of_dram(agent):
    holder = subprocess.Popen(["/usr/bin/python3", "-c", "import time; held = bytearray(b'x') * (300 << 20); print('held', flush=True); time.sleep(600)"],
                              stdout=subprocess.PIPE, text=True)
    try:
        holder.stdout.readline()
        def used():
            rows = agent.json("/api/v1/consumers?kind=process")["rows"]
            return next((r["components"] for r in rows if r["name"].endswith(f"[{holder.pid}]")), None)

        before = agent.wait_for(used, "the holder of memory")
        begin = agent.json("/api/v1/health")["ticks"]
        agent.wait_for(lambda: agent.json("/api/v1/health")["ticks"] >= begin + 30, "thirty ticks")
        after = used()
        rise = {component: after[component] - before.get(component, 0) for component in after}
        assert rise["node/dram/package-0"] > 0
        assert rise["node/dram/package-0"] > rise["node/cpu/package-0"], "asleep it uses memory alone"
        assert agent.json("/api/v1/health")["violations"] == 0
    finally:
        holder.kill()
        holder.wait()


def test_metrics_have_the_names_of_the_contract(agent):
    agent.wait_for(lambda: "joulery_consumer_joules_total" in agent.get("/metrics"), "consumers in /metrics")
    text = agent.get("/metrics")
    for name in ("joulery_component_joules_total", "joulery_component_overlap_joules_total", "joulery_conservation_violations_total",
                 "joulery_agent_cpu_seconds_total"):
        assert re.search(rf"^{name}[ {{]", text, re.M), name
    assert 'joulery_component_joules_total{component="node/cpu/package-0",quality="measured"}' in text
    assert 'kind="unattributed"' in text


def test_the_store_holds_what_the_agent_told(agent, joulery, burner):
    agent.wait_for(lambda: agent.json("/api/v1/health")["ticks"] >= 10, "ten ticks")
    code, out, err = agent.stop()
    assert code == 0, err
    assert out == "" and "violation" not in err
    run = Runner(joulery, agent.home)
    done = run("query", "--store", agent.store, "--from", "-1h", "--json", "component_joules", check=0)
    assert "node/cpu/package-0" in done.stdout
    assert "idle" in (agent.store / "static_power.json").read_text() or json.loads((agent.store / "static_power.json").read_text())


def test_rules_of_the_configuration_say_whose_team_it_is(with_rapl, tmp_path, joulery):
    children = [subprocess.Popen(["sh", "-c", BURN], env={**clean_environment(tmp_path), **team}) for team in ({"TEAM": "vision"}, {"TEAM": "speech"}, {})]
    agent = None
    try:
        config = tmp_path / "joulery.toml"
        config.write_text('[tags.team]\nenv = "TEAM"\n')
        agent = Agent(with_rapl, tmp_path, "--config", config)
        agent.wait_for(lambda: agent.json("/api/v1/health")["ticks"] >= 15, "fifteen ticks")
        told = {r["name"]: r["joules"] for r in agent.json("/api/v1/consumers?kind=tag")["rows"]}
        code, _, err = agent.stop()
        assert code == 0, err
    finally:
        for child in children:
            child.kill()
            child.wait()
        if agent:
            agent.kill()
    run = Runner(joulery, tmp_path)
    bill = json.loads(run("report", "--store", agent.store, "--from", "-1h", "--by", "team", "--json", check=0).stdout)
    rows = {one["keys"]["team"]: one["microjoules"] for one in bill["consumers"]}
    assert set(rows) == {"vision", "speech", "(none)"} and set(told) >= {"team=vision", "team=speech"}
    idle = bill["idle"]["microjoules"] if bill["idle"] else 0
    assert sum(rows.values()) + idle + bill["unattributed"]["microjoules"] == bill["total"]["microjoules"]
    # What the store's rows of tags, made apart from those of processes, hold: but for what is below its whole counts.
    kinds = json.loads(run("report", "--store", agent.store, "--from", "-1h", "--by", "kind", "--json", check=0).stdout)
    tags = next(one["microjoules"] for one in kinds["consumers"] if one["keys"]["kind"] == "tag")
    assert abs(tags - rows["vision"] - rows["speech"]) < 500_000 < min(rows["vision"], rows["speech"])
    for team in ("vision", "speech"):
        assert rows[team] >= float(told[f"team={team}"]) * 1e6 - 500_000  # the last ticks came after it was asked


def test_a_rule_that_is_not_whole_is_refused(run):
    one_line(run("top", "--once", "--set", "tags.team.user=ada", check=2).stderr, "tags.team", "tags.team.value")


def test_how_long_the_store_keeps_what_is_checked(run, tmp_path):
    told = run("agent", "--store", tmp_path / "s", "--listen", "127.0.0.1:0", "--set", "agent.store.keep_seconds=90d", check=2).stderr
    one_line(told, "seconds cannot be kept longer than minutes", "agent.store.keep_minutes")
    assert not (tmp_path / "s").exists()


def test_killed_at_any_moment_it_starts_again(with_rapl, tmp_path):
    for pause in (0.0, 0.35, 0.8):
        agent = Agent(with_rapl, tmp_path, store=tmp_path / "store")
        time.sleep(pause)
        agent.kill()
    agent = Agent(with_rapl, tmp_path, store=tmp_path / "store")
    try:
        agent.wait_for(lambda: agent.json("/api/v1/health")["ticks"] >= 2, "ticks after the kills")
        assert agent.json("/api/v1/health")["status"] == "ok"
    finally:
        agent.kill()


def test_a_damaged_store_is_moved_aside_and_said(with_rapl, tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    (store / time.strftime("day-%Y-%m-%d.joules", time.gmtime())).write_bytes(b"rubbish" * 1000)
    agent = Agent(with_rapl, tmp_path, store=store)
    try:
        agent.wait_for(lambda: agent.json("/api/v1/health")["ticks"] >= 5, "ticks")
        code, _, err = agent.stop()
        assert code == 0
        assert "damaged" in err and "new one" in err
    finally:
        agent.kill()


def test_rights_are_given_up_before_anything_is_served(agent):
    status = pathlib.Path(f"/proc/{agent.pid()}/status").read_text()
    field = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert field["Seccomp"].strip() == "2" and field["NoNewPrivs"].strip() == "1"
    kept = sum(1 << bit for bit in (2, 19, 38, 39))  # DAC_READ_SEARCH, SYS_PTRACE, PERFMON, BPF
    assert int(field["CapEff"], 16) & ~kept == 0


def test_a_second_agent_on_the_same_store_is_refused(agent, with_rapl):
    done = subprocess.run([*with_rapl, "--", str(built("joulery")), "agent", "--listen", "127.0.0.1:0", "--store", str(agent.store)],
                          env=clean_environment(agent.home), capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and str(agent.store) in done.stderr


def test_off_loopback_without_a_token_is_refused(run, tmp_path):
    done = run("agent", "--listen", "0.0.0.0:0", "--store", tmp_path / "store", check=2)
    assert "token" in done.stderr.lower() or "tls" in done.stderr.lower()


def test_readers_without_the_token_get_rounded_figures(agent, burner):
    agent.wait_for(lambda: agent.json("/api/v1/health", token=False)["ticks"] >= 5, "ticks")
    told = agent.json("/api/v1/consumers", token=False)
    assert told["rounded"] is True
    assert all((row["joules"] * 10) % 1 == 0 for row in told["rows"])


# ---- top ----

def test_top_gives_the_rows_of_the_api(with_rapl, joulery, tmp_path, burner):
    done = subprocess.run([*with_rapl, "--", joulery, "top", "--once", "--json", "--interval", "300ms"], env=clean_environment(tmp_path),
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout, parse_float=decimal.Decimal)
    assert told["schema"] == "joulery.consumers/1"
    assert sum(row["joules"] for row in told["rows"]) == told["joules"] > 0
    assert any(row["name"].endswith(f"[{burner.pid}]") for row in told["rows"])


def test_top_by_proc_says_what_that_misses(with_rapl, joulery, tmp_path):
    done = subprocess.run([*with_rapl, "--", joulery, "top", "--once", "--cpu-time", "proc", "--interval", "200ms"],
                          env=clean_environment(tmp_path), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "CPU time by proc" in done.stdout and "package-0" in done.stdout


@pytest.mark.parametrize("words, says", [(("--kind", "proces"), "process"), (("--sort", "size"), "joules"), (("--idle", "split"), "separate"),
                                         (("--json",), "--once"), ((), "terminal")])
def test_top_refuses_what_makes_no_sense(run, words, says):
    done = run("top", *words, check=2)
    assert says in done.stderr and len(done.stderr.strip().splitlines()) == 1


# ---- to an engine ----

def test_what_it_pushes_is_what_it_serves(with_rapl, tmp_path, burner):
    """Through a real engine: parts sum to the node there too, nothing is lost in between, and the fleet's report says the same."""
    if not VictoriaMetrics.installed():
        pytest.skip("skipped: victoria-metrics is not installed")
    with VictoriaMetrics(tmp_path / "engine") as engine:
        push = "agent.push.engine"
        begun = time.time()
        agent = Agent(with_rapl, tmp_path, "--set", f"{push}.kind=remote-write", "--set", f"{push}.url={engine.write_url}", "--set", f"{push}.interval=1s")
        try:
            agent.wait_for(lambda: agent.json("/api/v1/health")["ticks"] >= 15, "fifteen ticks")
            served = {one["component"]: one["joules"] for one in agent.json("/api/v1/node")["components"]}
            code, _, err = agent.stop()
        finally:
            agent.kill()
        assert code == 0, err
        at_ms = int(time.time() * 1000) + 1000

        def pushed(query):
            return {labels["component"]: decimal.Decimal(value) for labels, value in engine.ask(query, at_ms)}

        served = {name: joules for name, joules in served.items() if joules is not None and name in COUNTED}
        end = time.monotonic() + 30  # what an engine took it shows a moment later
        while time.monotonic() < end:
            wholes = pushed("sum by (component) (last_over_time(joulery_component_joules_total[5m]))")
            if all(wholes.get(name, 0) >= joules for name, joules in served.items()):
                break
            time.sleep(0.2)
        assert set(wholes) == COUNTED and all(wholes[name] >= joules for name, joules in served.items()), (served, wholes)
        for kind in KINDS:  # lines of who has ended are stale: what they had used is in "(other)"
            parts = pushed(f'sum by (component) (joulery_consumer_joules_total{{kind=~"{kind}|idle|unattributed"}})')
            assert {name: round(joules, 6) for name, joules in parts.items() if joules} == {name: round(joules, 6) for name, joules in wholes.items()}, kind
        done = Runner(built("joulery"), tmp_path / "reader")("fleet", "report", "--prometheus", engine.url, f"--from=@{int(begun) - 5}",
                                                             f"--to=@{at_ms // 1000 + 1}", "--json", check=0)
        told = json.loads(done.stdout, parse_float=decimal.Decimal)
        assert abs(told["total"]["joules"] - sum(wholes.values())) < decimal.Decimal("0.001")
