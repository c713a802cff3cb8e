"""A thousand nodes push to real engines, which are killed in between; what the engines then say is what the nodes burnt."""
# scripts/test: serial timeout=300
import csv
import io
import json
import signal
import subprocess
import time
from collections import defaultdict

import jsonschema
import pytest

from conftest import ROOT, built, one_line
from engines import OtlpReceiver, Prometheus, VictoriaMetrics
from wire_schemas import decode

NODES, STEP_MS = 1000, 15_000
COMPONENTS = ["node/cpu/package-0", "node/dram/package-0", "node/gpu/0", "node/rest"]


def burnt(node, component, moment):
    """Microjoules: tests/standins/push_fleet.cpp has the same formula."""
    return (moment + 1) * (1_000_003 * (component + 1) + 7919 * node) + (node * moment * (component + 3)) % 1009


def fleet_sum(moment, nodes=NODES):
    return sum(burnt(n, c, moment) for n in range(nodes) for c in range(4))


class Fleet:
    """The stand-in push_fleet: nodes with queues in `folder`; may be killed and begun again at the moment where it was."""

    def __init__(self, url, folder, first_ms, kind="remote-write", nodes=NODES):
        program = built("standins/push_fleet")
        assert program, "push_fleet is not built"
        self.words = [program, url, kind, nodes, folder, first_ms, STEP_MS]
        self.process, self.moment = None, 0
        self.start()

    def start(self):
        self.process = subprocess.Popen([*map(str, self.words), str(self.moment)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "push_fleet has ended"
        report = json.loads(line)
        self.moment = report["moments"]
        return report

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()


def microjoules(text):
    return round(float(text) * 1e6)


def within_a_joule(engine, query, at_ms, expected):
    (_, value), = engine.ask(query, at_ms)
    assert abs(microjoules(value) - expected) < 1_000, (query, value, expected)  # sums of doubles in the engine: a thousandth of a joule


@pytest.mark.parametrize("engine_class", [Prometheus, VictoriaMetrics])
def test_a_thousand_nodes_and_a_killed_engine(engine_class, tmp_path):
    if not engine_class.installed():
        pytest.skip(f"skipped: {engine_class.program} is not installed")
    first_ms = (int(time.time()) - 600) * 1000
    with engine_class(tmp_path / "engine") as engine, Fleet(engine.write_url, tmp_path / "queues", first_ms) as fleet:
        fleet.tell("offer 2")
        before = fleet.tell("drain")
        assert before["queued_bytes"] == 0 and before["dropped"] == 0, before
        engine.kill(signal.SIGKILL)
        away = fleet.tell("offer 1")
        assert away["queued_bytes"] > 0
        fleet.kill()  # the agents die too, with a moment queued that nobody took
        fleet.start()
        engine.start()
        fleet.tell("offer 1")
        done = fleet.tell("drain")
        assert done["queued_bytes"] == 0 and done["dropped"] == 0, done
        last = fleet.moment - 1
        last_ms = first_ms + last * STEP_MS

        expected = fleet_sum(last)
        within_a_joule(engine, "sum(joulery_component_joules_total)", last_ms, expected)
        for kind in ("process", "job"):
            within_a_joule(engine, f'sum(joulery_consumer_joules_total{{kind=~"{kind}|idle|unattributed"}})', last_ms, expected)
        by_node = engine.ask("sum by (instance) (joulery_component_joules_total)", last_ms)
        assert {labels["instance"]: microjoules(value) for labels, value in by_node} == {
            f"node-{n:04}": sum(burnt(n, c, last) for c in range(4)) for n in range(NODES)}
        by_team = defaultdict(int)
        for n in range(NODES):
            by_team[["vision", "speech", "search"][n % 3]] += sum(burnt(n, c, last) for c in range(4))
        for labels, value in engine.ask("sum by (team) (joulery_component_joules_total)", last_ms):
            assert abs(microjoules(value) - by_team[labels["team"]]) < 1_000
        # Each moment that was offered while the engine was away is there (and for Prometheus, whose log a kill does not hurt, each
        # moment before; VictoriaMetrics keeps the last seconds in memory, and of what it loses with a kill nothing is missing from
        # counters).
        for moment in range(0 if engine_class is Prometheus else 2, fleet.moment):
            within_a_joule(engine, "sum(joulery_component_joules_total)", first_ms + moment * STEP_MS, fleet_sum(moment))


def fleet(run, engine, first_ms, first, last, *words):
    """The report of (moment `first`, moment `last`]; before the first moment all counters were 0."""
    done = run("fleet", "report", "--prometheus", engine.url, f"--from=@{(first_ms + first * STEP_MS) / 1000:.0f}",
               f"--to=@{(first_ms + last * STEP_MS) / 1000:.0f}", "--json", *words, check=0)
    report = json.loads(done.stdout)
    jsonschema.validate(report, json.loads((ROOT / "data" / "schemas" / "fleet.json").read_text()))
    return report


def shares_of(node, component, moment):
    """What is idle, unattributed, the job's, and belongs to no job; as in push_fleet.cpp."""
    whole = burnt(node, component, moment)
    used = whole - whole // 4 - whole // 50
    return whole // 4, whole // 50, used // 2, used - used // 2


@pytest.mark.parametrize("engine_class", [Prometheus, VictoriaMetrics])
def test_fleet_report_is_exact_through_restarts(engine_class, run, tmp_path):
    """40 nodes; after four moments all agents begin anew, and one node never comes back."""
    if not engine_class.installed():
        pytest.skip(f"skipped: {engine_class.program} is not installed")
    nodes, first_ms = 40, (int(time.time()) - 3600) * 1000
    with engine_class(tmp_path / "engine") as engine:
        with Fleet(engine.write_url, tmp_path / "queues", first_ms, nodes=nodes) as pushing:
            pushing.tell("offer 4")
            assert pushing.tell("drain")["queued_bytes"] == 0
        with Fleet(engine.write_url, tmp_path / "later", first_ms + 4 * STEP_MS, nodes=nodes - 1) as pushing:
            pushing.tell("offer 3")  # moments 4 to 6, counted from 0 again
            assert pushing.tell("drain")["queued_bytes"] == 0
        engine.settle()

        def energy(n, c, first, last):
            """Of (first, last], by hand: what rose, and after the restart all that the counter shows."""
            before = 0 if first < 0 else burnt(n, c, first)
            if last < 4:
                return burnt(n, c, last) - before
            anew = burnt(n, c, last - 4) if n < nodes - 1 else 0
            return burnt(n, c, 3) - before + anew

        for first, last in [(0, 3), (1, 6), (-1, 6)]:
            report = fleet(run, engine, first_ms, first, last, "--place", "SWE", "--tariff", "0.30 EUR/kWh", "--pue", "1.5")
            rows = {row["labels"]["instance"]: microjoules(row["joules"]) for row in report["rows"]}
            assert rows == {f"node-{n:04}": sum(energy(n, c, first, last) for c in range(4)) for n in range(nodes)}
            total = sum(rows.values())
            assert microjoules(report["total"]["joules"]) == total
            assert report["total"]["cost"] == pytest.approx(total / 3.6e12 * 1.5 * 0.30)
            assert report["total"]["grams"] == pytest.approx(total / 3.6e12 * 1.5 * report["carbon_g_per_kwh"])
            assert report["total"]["by_quality"]["estimated"] == pytest.approx(sum(energy(n, 3, first, last) for n in range(nodes)) / 1e6)
        # A node that is gone; windows that touch add up.
        parts = [fleet(run, engine, first_ms, a, b)["total"]["joules"] for a, b in [(-1, 2), (2, 5), (5, 6)]]
        assert microjoules(sum(parts)) == total
        silent = fleet(run, engine, first_ms, 4, 60)["gaps"]
        assert {gap["node"]: gap["missing"] for gap in silent} == {f"node-{n:04}": n == nodes - 1 for n in range(nodes)}

        # By job, across the restart: the named jobs, what belongs to none, idle and unattributed sum to the whole.
        report = fleet(run, engine, first_ms, -1, 6, "--kind", "job")
        expected = defaultdict(int)
        for n in range(nodes):
            for c in range(4):
                for moment in [3] + [2] * (n < nodes - 1):
                    idle, rest, job, none = shares_of(n, c, moment)
                    for name, micro in (("idle", idle), ("unattributed", rest), (f"train-{n % 10}", job), ("(none)", none)):
                        expected[name] += micro
        assert {row["labels"]["name"] or row["what"]: microjoules(row["joules"]) for row in report["rows"]} == expected
        assert sum(expected.values()) == total and report["inconsistent"] == 0
        assert microjoules(report["total"]["idle_joules"]) == expected["idle"]

        # By team, as CSV; one team only; as text.
        csv_rows = list(csv.DictReader(io.StringIO(run("fleet", "report", "--prometheus", engine.url, f"--from=@{first_ms / 1000 - 15:.0f}",
                                                       f"--to=@{first_ms / 1000 + 90:.0f}", "--by", "team", "--csv", check=0).stdout)))
        assert {row["team"] for row in csv_rows} == {"vision", "speech", "search"}
        assert sum(microjoules(row["joules"]) for row in csv_rows) == total
        one = fleet(run, engine, first_ms, -1, 6, "--where", "team=speech")
        assert [microjoules(row["joules"]) for row in csv_rows if row["team"] == "speech"] == [microjoules(one["total"]["joules"])]
        text = run("fleet", "report", "--prometheus", engine.url, "--from=-2h", "--kind", "job", check=0).stdout
        for word in ("train-0", "idle", "unattributed", "total", "Silent"):
            assert word in text


def test_fleet_report_says_what_is_wrong(run, tmp_path):
    one_line(run("fleet", "report", check=2).stderr, "--prometheus", "fleet.url")
    one_line(run("fleet", "report", "--prometheus", "http://127.0.0.1:1", check=1).stderr, "nobody answers", "127.0.0.1:1")
    one_line(run("fleet", "report", "--prometheus", "http://127.0.0.1:1", "--from", "soon", check=2).stderr, "soon", "--from")
    one_line(run("fleet", "report", "--prometheus", "http://127.0.0.1:1", "--kind", "jobb", check=2).stderr, "did you mean 'job'")
    one_line(run("fleet", "report", "--prometheus", "http://127.0.0.1:1", "--by", "name", check=2).stderr, "--kind")
    with OtlpReceiver() as page:  # something that is no engine
        page.answer = (200, {}, b"<html>hello</html>")
        one_line(run("fleet", "report", "--prometheus", page.url, check=1).stderr, "no engine")
        page.answer = (401, {}, b"who are you")
        one_line(run("fleet", "report", "--prometheus", page.url, check=1).stderr, "refuses the login")
        page.answer = (422, {}, b'{"status":"error","error":"too many samples"}')
        one_line(run("fleet", "report", "--prometheus", page.url, check=1).stderr, "too many samples")


def attributes(holder):
    return {pair.key: pair.value.string_value for pair in holder.attributes}


def test_otlp_decodes_and_sums(tmp_path):
    nodes, first_ms = 5, 1_700_000_000_000
    with OtlpReceiver() as receiver:
        receiver.answer = (503, {"Retry-After": "1"}, b"")
        with Fleet(receiver.url + "/v1/metrics", tmp_path, first_ms, "otlp", nodes) as fleet:
            fleet.tell("offer 2")
            while not receiver.requests:
                time.sleep(0.02)
            receiver.answer = (200, {"Content-Type": "application/x-protobuf"}, b"")
            refused = len(receiver.requests)
            report = fleet.tell("drain")
            assert report["queued_bytes"] == 0 and report["dropped"] == 0 and report["failed"] >= 1
    energy, host, consumers, times = defaultdict(int), defaultdict(int), defaultdict(int), set()
    for path, headers, body in receiver.requests[refused:]:
        assert path == "/v1/metrics" and headers["Content-Type"] == "application/x-protobuf"
        for resource_metrics in decode("ExportMetricsServiceRequest", body).resource_metrics:
            resource = attributes(resource_metrics.resource)
            assert resource["service.name"] == "joulery" and resource["service.version"] == "1.2.3"
            node = int(resource["host.name"].removeprefix("node-"))
            assert resource["host.id"] == f"id-{node}" and resource["team"] == ["vision", "speech", "search"][node % 3]
            scope, = resource_metrics.scope_metrics
            assert scope.scope.name == "joulery"
            metrics = {metric.name: metric for metric in scope.metrics}
            for metric in scope.metrics:
                counter = metric.HasField("sum")
                assert counter != metric.HasField("gauge")
                if counter:
                    assert metric.sum.aggregation_temporality == 2 and metric.sum.is_monotonic
                for point in metric.sum.data_points if counter else metric.gauge.data_points:
                    assert point.start_time_unix_nano == ((first_ms - 1000) * 1_000_000 if counter else 0)
                    assert point.HasField("as_double") != point.HasField("as_int")
                    times.add(point.time_unix_nano)
            moment = (scope.metrics[0].sum.data_points[0].time_unix_nano // 1_000_000 - first_ms) // STEP_MS
            assert metrics["hw.energy"].unit == "J" and metrics["hw.power"].unit == "W"
            for point in metrics["hw.energy"].sum.data_points:
                names = attributes(point)
                component = COMPONENTS.index(names["hw.id"])
                assert names["hw.type"] == ["cpu", "memory", "gpu", "rest"][component]
                assert round(point.as_double * 1e6) == burnt(node, component, moment)
                energy[node, moment] += round(point.as_double * 1e6)
            for point in metrics["hw.host.energy"].sum.data_points:
                assert "hw.type" not in attributes(point)
                host[node, moment] += round(point.as_double * 1e6)
            power, = metrics["hw.host.power"].gauge.data_points
            assert power.as_double == sum(100 * (c + 1) + node % 7 for c in range(4))
            for point in metrics["joulery.consumer.energy"].sum.data_points:
                if attributes(point)["kind"] in ("job", "idle", "unattributed"):
                    consumers[node, moment] += round(point.as_double * 1e6)
    expected = {(n, m): sum(burnt(n, c, m) for c in range(4)) for n in range(nodes) for m in range(2)}
    assert energy == host == consumers == expected
    assert times == {(first_ms + m * STEP_MS) * 1_000_000 for m in range(2)}


def test_remote_write_decodes(tmp_path):
    """The bytes of a request, unpacked by what is not ours."""
    snappy = pytest.importorskip("snappy", reason="skipped: python3-snappy is not installed")
    with OtlpReceiver() as receiver, Fleet(receiver.url + "/write", tmp_path, 1_700_000_000_000, nodes=2) as fleet:
        fleet.tell("offer 1")
        assert fleet.tell("drain")["queued_bytes"] == 0
    nodes = set()
    for path, headers, body in receiver.requests:
        assert path == "/write" and headers["Content-Encoding"] == "snappy" and headers["X-Prometheus-Remote-Write-Version"] == "0.1.0"
        for series in decode("WriteRequest", snappy.uncompress(body)).timeseries:
            names = [label.name for label in series.labels]
            assert names == sorted(names) and len(set(names)) == len(names)
            labels = {label.name: label.value for label in series.labels}
            sample, = series.samples
            assert sample.timestamp == 1_700_000_000_000
            if labels["__name__"] == "joulery_component_joules_total":
                node, component = int(labels["instance"].removeprefix("node-")), COMPONENTS.index(labels["component"])
                assert labels["job"] == "joulery" and round(sample.value * 1e6) == burnt(node, component, 0)
                nodes.add(node)
    assert nodes == {0, 1}
