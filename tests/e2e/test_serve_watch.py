"""joulery serve-watch against a model server whose energy is known to the request, on a scripted machine: by metrics, by request log, by
spans and through the proxy. Where shares are at stake the server follows a plan (standins/planned_engine.py), so that its truth holds on a
busy machine too; the rest asks one that works as it is asked (standins/model_server.py)."""
# scripts/test: serial (the proxy tells when pieces really came)
import json
import re
import signal
import subprocess
import threading
import time
import urllib.request

import pytest

from conftest import LIMIT_S, ROOT, built, microjoules, one_line
from model_server import MODEL, Costs, ModelServer
from planned_engine import Arrival, PlannedEngine
from serving import KINDS, QUICK, Watching, arrivals, ask, check, load, schema


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with ModelServer(tmp_path_factory.mktemp("server") / "machine", costs=QUICK) as model_server:
        yield model_server


def otlp_value(value):
    """As protobuf's JSON has it: 64-bit integers are texts."""
    kind = {str: "stringValue", int: "intValue", float: "doubleValue"}[type(value)]
    return {kind: str(value) if isinstance(value, int) else value}


def otlp_span(name, number, start, end, attributes):
    return {"traceId": f"{number:032x}", "spanId": f"{number:016x}", "parentSpanId": "", "flags": 1, "name": name, "kind": 2,
            "startTimeUnixNano": str(round(start * 1e9)), "endTimeUnixNano": str(round(end * 1e9)), "status": {},
            "attributes": [{"key": key, "value": otlp_value(value)} for key, value in attributes.items()]}


def otlp_document(spans):
    service = {"key": "service.name", "value": otlp_value("vllm-server")}
    scope = {"scope": {"name": "vllm.llm_engine"}, "spans": spans}
    return {"resourceSpans": [{"resource": {"attributes": [service]}, "scopeSpans": [scope], "schemaUrl": "https://opentelemetry.io/schemas/1.26.0"}]}


def spans_of(jobs):
    """The spans that vLLM sends of each request, and what stands beside them: the request's way over HTTP."""
    for number, job in enumerate(jobs, 1):
        yield otlp_span("POST " + job.path, 1000 + number, job.start, job.end + 0.001, {"http.request.method": "POST", "http.response.status_code": 200})
        yield otlp_span("llm_request", number, job.start, job.end, {
            "gen_ai.response.model": job.model, "gen_ai.request.id": job.id, "gen_ai.request.temperature": 0.7, "gen_ai.request.max_tokens": job.tokens_out,
            "gen_ai.usage.prompt_tokens": job.tokens_in, "gen_ai.usage.completion_tokens": job.tokens_out,
            "gen_ai.latency.time_to_first_token": job.first - job.start, "gen_ai.latency.e2e": job.end - job.start})


class Planned:
    """What one planned run looked like to three who watched it at once."""

    def __init__(self, run, folder):
        plan = [*arrivals(1.2, 9.2, rate=12), Arrival(11.2, "/v1/completions", 50, 30)]
        self.engine = PlannedEngine(Costs(step_s=0.01, prefill_s=5e-5), plan, counted_before=(900, 300, 7))
        self.recording, self.counted, self.log = (folder / name for name in ("p.joulery", "w.joulery", "proxy.jsonl"))
        own_log = folder / "own.jsonl"
        with ModelServer(folder / "machine", engine=self.engine) as server:
            words = ["--sysroot", server.root, "--interval", "50ms"]
            proxy = Watching(run, "--proxy", "127.0.0.1:0", "--upstream", server.url, *words, "-o", self.recording, "--log", self.log)
            metrics = Watching(run, "--endpoint", server.url, *words, "--every", "200ms", "-o", self.counted, "--pue", "1.1")
            requests = Watching(run, "--endpoint", server.url, *words, "--no-save", "--requests", own_log)
            address = proxy.proxy()
            self.engine.start()
            threads = [threading.Thread(target=self.ask, args=(address, job)) for job in self.engine.jobs[:-1]]
            for thread in threads:
                thread.start()
            self.last = self.ask(address, self.engine.jobs[-1], stream=False, Authorization="Bearer very-secret-key")
            for thread in threads:
                thread.join()
            self.engine.sleep_until(self.engine.length + 0.7)
            server.write_log(own_log)
            self.by_proxy, self.by_metrics, self.by_log = proxy.end(), metrics.end(), requests.end()
            self.seen = server.server.seen

    def ask(self, address, job, **more):
        self.engine.sleep_until(job.arrives)
        return ask(address, job.path, job.tokens_in, job.tokens_out, user=job.id, **more)

    def expect_truth(self, report):
        """Each kind of request got what it cost, within 5 %."""
        truth = dict.fromkeys(KINDS, 0.0)
        for job in self.engine.ended:
            truth[job.path] += self.engine.truth[job.id]
        shares = {group["name"]: group["joules"] for group in report["groups"]}
        assert shares == pytest.approx(truth, rel=0.05), report["costs"]
        assert sum(shares.values()) == pytest.approx(sum(truth.values()), rel=0.05)


@pytest.fixture(scope="module")
def planned(module_run, tmp_path_factory):
    return Planned(module_run, tmp_path_factory.mktemp("planned"))


def test_metrics(planned, run):
    report, jobs = planned.by_metrics, planned.engine.ended
    tokens_in, tokens_out = sum(job.tokens_in for job in jobs), sum(job.tokens_out for job in jobs)
    assert report["server"] == "vLLM" and report["source"] == "metrics"
    everything = report["all"]
    assert (everything["tokens_in"], everything["tokens_out"], everything["requests"]) == (tokens_in, tokens_out, len(jobs))
    assert [model["name"] for model in report["models"]] == [MODEL]
    joules = report["energy"]["joules"]
    assert everything["joules_per_output_token"] == pytest.approx(joules / tokens_out)
    assert everything["joules_per_token"] == pytest.approx(joules / (tokens_in + tokens_out))
    assert everything["kwh_per_1000_requests"] == pytest.approx(joules / len(jobs) * 1000 / 3.6e6)
    assert report["split"]["overhead_joules"] == pytest.approx(joules * 0.1, abs=1e-6)
    assert report["split"]["idle_watts"] == pytest.approx(20, rel=0.1)
    # The recording holds the same as work, for joulery report.
    work = {line["unit"]: line["count"] for line in run.report(planned.counted)["work"]}
    assert work == {"output token": tokens_out, "token": tokens_in + tokens_out, "request": len(jobs)}


def test_a_restart_is_a_gap(run, server):
    watching = Watching(run, "--endpoint", server.url, "--sysroot", server.root, "--every", "200ms", "--no-save")
    load(server.url[7:], 1)
    time.sleep(0.5)
    server.restart()
    load(server.url[7:], 1)
    report = watching.end()
    assert any("restarted" in gap["reason"] for gap in report["gaps"])
    assert report["split"]["unattributed_joules"] > 0


def test_request_log_gives_each_kind_what_it_cost(planned):
    report = planned.by_log
    planned.expect_truth(report)
    assert report["costs"]["fitted"] and report["each_request"]["count"] == len(planned.engine.ended)


def test_proxy_gives_each_kind_what_it_cost(planned, run, tmp_path):
    status, headers, body = planned.last
    assert status == 200 and json.loads(body)["usage"]["completion_tokens"] == 30
    assert re.fullmatch(r"\d+\.\d{6}; quality=estimated", headers["Joulery-Joules"])
    assert planned.seen[-1][1]["Authorization"] == "Bearer very-secret-key"
    report = planned.by_proxy
    planned.expect_truth(report)
    jobs = {job.id: job for job in planned.engine.ended}
    lines = [json.loads(line) for line in planned.log.read_text().splitlines()]
    assert len(lines) == len(jobs) == report["all"]["requests"]
    for line in lines:
        job = jobs[line["id"]]
        assert (line["tokens_in"], line["tokens_out"], line["group"]) == (job.tokens_in, job.tokens_out, job.path)
        assert line["tokens_source"] == "usage" and line["joules"] is not None
    assert "very-secret-key" not in planned.log.read_text() and b"very-secret-key" not in planned.recording.read_bytes()
    # The same once more from the recording and the log alone: shares and idle are the run's energy, to the microjoule.
    again = tmp_path / "again.jsonl"
    words = ["--recording", planned.recording, "--requests", planned.log, "--log", again, "--json"]
    told = check(json.loads(run("serve-watch", *words, check=0).stdout))
    shared = [json.loads(line)["joules"] for line in again.read_text().splitlines()]
    assert sum(map(microjoules, shared)) + microjoules(told["split"]["idle_joules"]) == microjoules(told["energy"]["joules"])
    assert microjoules(told["energy"]["joules"]) == microjoules(run.report(planned.recording)["energy"]["joules"])


@pytest.mark.parametrize("form", ["whole", "lines"])
def test_spans_give_each_kind_what_it_cost(planned, run, tmp_path, form):
    """OTLP in JSON as a collector's file exporter writes it: here as one document, there a batch a line, one of them cut short."""
    spans, shares = tmp_path / "spans.json", tmp_path / "shares.jsonl"
    everything = list(spans_of(planned.engine.ended))
    if form == "whole":
        spans.write_text(json.dumps(otlp_document(everything), indent=2))
    else:
        batches = [json.dumps(otlp_document(everything[begin:begin + 50])) for begin in range(0, len(everything), 50)]
        spans.write_text("\n".join([*batches, batches[0][:200]]) + "\n")
    words = ["--recording", planned.recording, "--requests", spans, "--log", shares, "--json"]
    report = check(json.loads(run("serve-watch", *words, check=0).stdout))
    jobs = {job.id: job for job in planned.engine.ended}
    lines = [json.loads(line) for line in shares.read_text().splitlines()]
    assert report["all"]["requests"] == len(lines) == len(jobs) and {line["id"] for line in lines} == set(jobs)
    assert [(model["name"], model["requests"]) for model in report["models"]] == [(MODEL, len(jobs))]
    told, truth = dict.fromkeys(KINDS, 0.0), dict.fromkeys(KINDS, 0.0)
    for line in lines:
        job = jobs[line["id"]]
        assert (line["tokens_in"], line["tokens_out"]) == (job.tokens_in, job.tokens_out)
        told[job.path] += line["joules"]
        truth[job.path] += planned.engine.truth[job.id]
    assert told == pytest.approx(truth, rel=0.05), report["costs"]
    left_out = [flag for flag in report["flags"] if "left out: 1" in flag]
    assert len(left_out) == (1 if form == "lines" else 0)


def names_in(schema):
    for name, inner in schema.get("properties", {}).items():
        yield name
        yield from names_in(inner)
    if "items" in schema:
        yield from names_in(schema["items"])


def test_the_page_names_every_field(planned):
    page = (ROOT / "docs" / "formats" / "serving.md").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in planned.log.read_text().splitlines()]
    told = {*names_in(schema()), *(name for line in lines for name in line)}
    assert "joules_p95" in told and [name for name in sorted(told) if f"`{name}`" not in page and f".{name}`" not in page] == []


def test_wrong_words(run, server):
    assert "nothing to watch" in one_line(run("serve-watch", check=2).stderr)
    one_line(run("serve-watch", "--proxy", "127.0.0.1:1", check=2).stderr, "--upstream")
    one_line(run("serve-watch", "--endpoint", "ftp://x", check=2).stderr, "ftp://x")
    one_line(run("serve-watch", "--endpoint", "http://u:p@x", check=2).stderr, "password")
    one_line(run("serve-watch", "--proxy", "127.0.0.1", "--upstream", server.url, check=2).stderr, "port")
    one_line(run("serve-watch", "--endpoint", server.url, "--kind", "vlm", check=2).stderr, "vllm")


def test_a_page_of_something_else(run, server):
    done = run("serve-watch", "--endpoint", server.url + "/other", "--duration", "1s", "--no-save", "--sysroot", server.root)
    assert done.returncode == 1 and "no metrics" in done.stderr


def test_the_agent_watches_servers(run, server, tmp_path):
    """What the agent tells of a server is what the server did, and the node's energy of the same time."""
    if built("joulery-agent") is None:
        pytest.skip("skipped: joulery-agent is not built")
    server.restart()
    agent = run.start("agent", "--interval", "200ms", "--listen", "127.0.0.1:0", "--store", tmp_path / "store", "--sysroot", server.root,
                      "--set", f"servers.llm.url={server.url}", "--set", "servers.llm.interval=200ms", "--set", "servers.gone.url=http://127.0.0.1:9",
                      "--set", "agent.token_env=AGENT_TOKEN", env={**run.environment, "AGENT_TOKEN": "a-token-that-is-long-enough"},
                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        url = re.search(r"http://[0-9.:]+", agent.stdout.readline()).group(0)

        def get(path, token=True):
            request = urllib.request.Request(url + path, headers={"Authorization": "Bearer a-token-that-is-long-enough"} if token else {})
            return urllib.request.urlopen(request, timeout=20).read().decode()

        def wait(tokens):
            end = time.monotonic() + LIMIT_S
            while time.monotonic() < end:
                told = {one["name"]: one for one in json.loads(get("/api/v1/servers"))["servers"]}
                models = told["llm"]["models"]
                if models and models[0]["tokens_out"] == tokens:
                    return told
                time.sleep(0.2)
            raise AssertionError(told)

        time.sleep(1)
        load(server.url[7:], 1.5)
        counts = server.engine.counts[MODEL]
        told = wait(counts["generation"])
        llm = told["llm"]
        assert llm["models"] == [{"name": MODEL, "tokens_in": counts["prompt"], "tokens_out": counts["generation"], "requests": counts["requests"]}]
        assert llm["server"] == "vLLM" and llm["reason"] is None
        assert llm["joules_per_output_token"] == pytest.approx(llm["node_joules"] / counts["generation"], rel=0.2)
        assert 0 < llm["node_joules"] < 200 * llm["watched_seconds"]
        assert told["gone"]["reason"] and told["gone"]["node_joules"] == 0
        page = get("/metrics")
        assert f'joulery_server_tokens_total{{direction="out",model="{MODEL}",server="llm"}} {counts["generation"]}\n' in page
        assert "joulery_server_joules_per_output_token{" in page
        openly = json.loads(get("/api/v1/servers", token=False))
        assert openly["rounded"] and all(float(one["node_joules"]).is_integer() for one in openly["servers"])
        assert "joulery_server_joules_per_output_token{" not in get("/metrics", token=False)
    finally:
        agent.send_signal(signal.SIGTERM)
        agent.communicate(timeout=LIMIT_S)
