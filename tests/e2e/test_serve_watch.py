"""joulery serve-watch against a model server whose energy is known to the request, on a scripted machine: by metrics, by request log, by
spans and through the proxy. Where shares are at stake the server follows a plan (standins/planned_engine.py), so that its truth holds on a busy
machine too; the rest asks one that works as it is asked (standins/model_server.py)."""
# scripts/test: serial (the proxy tells when pieces really came)
import http.client
import json
import random
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.request

import jsonschema
import pytest

from conftest import LIMIT_S, ROOT, Runner, built, microjoules, one_line
from model_server import LARGE, MODEL, Costs, ModelServer
from planned_engine import Arrival, PlannedEngine

QUICK = Costs(step_s=0.005, prefill_s=2.5e-5)
KINDS = {"/v1/completions": (600, 12), "/v1/chat/completions": (40, 60)}  # path: words of the prompt, tokens of the answer


def schema():
    return json.loads((ROOT / "data" / "schemas" / "serving.json").read_text(encoding="utf-8"))


def check(report):
    jsonschema.Draft202012Validator(schema()).validate(report)
    split = report["split"]
    parts = [split[name] for name in ("active_accelerators_joules", "active_host_joules", "idle_joules", "unattributed_joules")]
    assert sum(map(microjoules, parts)) == microjoules(report["energy"]["joules"])
    by_model = sum(microjoules(model["joules"]) for model in report["models"] if model["joules"] is not None)
    assert by_model == microjoules(split["active_accelerators_joules"]) + microjoules(split["active_host_joules"])
    return report


def ask(address, path, words, tokens, stream=True, usage=True, user=None, **headers):
    """One request; gives (answer's status, headers, body)."""
    connection = http.client.HTTPConnection(address, timeout=LIMIT_S)
    body = {"model": MODEL, "max_tokens": tokens, "stream": stream}
    if user:
        body["user"] = user
    if stream and usage:
        body["stream_options"] = {"include_usage": True}
    prompt = " ".join(["word"] * words)
    body.update({"prompt": prompt} if path == "/v1/completions" else {"messages": [{"role": "user", "content": prompt}]})
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json", **headers})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, answer.headers, text


def arrivals(begin, end, rate, seed=1):
    """Requests of both kinds at random times."""
    chance, at = random.Random(seed), begin
    while at < end:
        path = chance.choice(list(KINDS))
        words, tokens = KINDS[path]
        yield Arrival(at, path, round(words * chance.uniform(0.5, 1.5)), round(tokens * chance.uniform(0.5, 1.5)))
        at += chance.expovariate(rate)


def load(address, seconds):
    """Asks for `seconds`; returns when all have their answers."""
    threads, begin = [], time.monotonic()
    for one in arrivals(0, seconds, rate=12):
        time.sleep(max(0.0, begin + one.seconds - time.monotonic()))
        threads.append(threading.Thread(target=ask, args=(address, one.path, one.tokens_in, one.tokens_out)))
        threads[-1].start()
    for thread in threads:
        thread.join()


class Watching:
    """joulery serve-watch beside a load, until it is told to end."""

    def __init__(self, run, *words):
        self.process = run.start("serve-watch", *map(str, words), "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines = []
        self.ready = threading.Event()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            self.lines.append(line)
            self.ready.set()

    def proxy(self):
        """Where the proxy listens."""
        assert self.ready.wait(LIMIT_S), "the proxy never said where it is"
        return re.search(r"proxy at http://(\S+) ", self.lines[0]).group(1)

    def end(self):
        self.process.send_signal(signal.SIGINT)
        out = self.process.stdout.read()
        code = self.process.wait(LIMIT_S)
        self.reader.join()
        assert code == 0, "".join(self.lines)
        return check(json.loads(out))


@pytest.fixture(scope="module")
def module_run(joulery, tmp_path_factory):
    return Runner(joulery, tmp_path_factory.mktemp("home"))


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


def raw(address, request):
    """What comes back for bytes, until the other side closes."""
    host, port = address.split(":")
    with socket.create_connection((host, int(port)), timeout=LIMIT_S) as connection:
        connection.sendall(request)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
        return answer


@pytest.fixture(scope="module")
def proxied(module_run, server):
    watching = Watching(module_run, "--proxy", "127.0.0.1:0", "--upstream", server.url, "--sysroot", server.root, "--no-save")
    yield watching.proxy(), server
    watching.end()


def test_trailer_for_who_takes_it(proxied):
    address, _ = proxied
    time.sleep(1.2)  # until the meters have told something
    body = json.dumps({"prompt": "a b c", "max_tokens": 5, "stream": True}).encode()
    head = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nTE: trailers\r\nConnection: TE, close\r\nContent-Length: %d\r\n\r\n" % len(body)
    answer = raw(address, head + body)
    assert b"\r\nTrailer: Joulery-Joules\r\n" in answer and re.search(rb"\r\n0\r\nJoulery-Joules: \d+\.\d{6}; quality=estimated\r\n\r\n$", answer)
    plain = raw(address, head.replace(b"TE: trailers\r\n", b"").replace(b"TE, ", b"") + body)
    assert b"Joulery-Joules" not in plain and plain.endswith(b"\r\n0\r\n\r\n")


def test_tokens_are_counted_where_nobody_tells(run, server, tmp_path):
    watching = Watching(run, "--proxy", "127.0.0.1:0", "--upstream", server.url, "--sysroot", server.root, "--no-save", "--log", tmp_path / "log")
    address = watching.proxy()
    ask(address, "/v1/chat/completions", 10, 23, usage=False)
    watching.end()
    line = json.loads((tmp_path / "log").read_text())
    assert (line["tokens_out"], line["tokens_source"], line["tokens_in"]) == (23, "pieces", None)


def test_chunks_go_both_ways_and_connections_are_kept(proxied):
    address, server = proxied
    connection = http.client.HTTPConnection(address, timeout=LIMIT_S)
    connection.connect()
    socket_used, seen_before = connection.sock, len(server.server.seen)
    for _ in range(3):
        pieces = [b'{"prompt": "' + b"word " * 500, b"word " * 700 + b'", ', b'"max_tokens": 2}']
        connection.request("POST", "/v1/completions", iter(pieces), {"Content-Type": "application/json"}, encode_chunked=True)
        answer = connection.getresponse()
        assert json.loads(answer.read())["usage"]["prompt_tokens"] == 1200
        assert connection.sock is socket_used
    connection.close()
    seen = server.server.seen[seen_before:]
    assert len(seen) == 3 and all("Transfer-Encoding" in headers and "Connection" not in headers for _, headers, _ in seen)


def test_who_hangs_up_ends_the_request_behind(proxied):
    address, server = proxied
    host, port = address.split(":")
    body = json.dumps({"prompt": "a", "max_tokens": 100000, "stream": True}).encode()
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        connection.recv(1000)
    deadline = time.monotonic() + LIMIT_S
    while not server.server.cancelled and time.monotonic() < deadline:
        time.sleep(0.05)
    assert server.server.cancelled


def test_a_slow_client_loses_nothing(proxied):
    address, _ = proxied
    host, port = address.split(":")
    body = json.dumps({"prompt": "a", "max_tokens": 60, "stream": True}).encode()
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect((host, int(port)))
        connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        answer = b""
        while piece := connection.recv(200):
            answer += piece
            time.sleep(0.01)
    assert answer.count(b'"delta"') == 60 and answer.endswith(b"\r\n0\r\n\r\n")


def test_upstream_down_is_one_clear_answer(run, server):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    watching = Watching(run, "--proxy", "127.0.0.1:0", "--upstream", f"http://127.0.0.1:{port}", "--sysroot", server.root, "--no-save")
    status, _, body = ask(watching.proxy(), "/v1/completions", 3, 3)
    assert status == 502 and f"127.0.0.1:{port} does not answer" in json.loads(body)["error"]["message"]
    report = watching.end()
    assert report["all"]["requests"] is None
    assert sum("does not answer" in line for line in watching.lines) == 1


def make_certificate(folder, name, where):
    """A certificate of its own making for that name; gives (the certificate, both it and its key)."""
    certificate, both = folder / f"{name}.pem", folder / f"{name}-both.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                    "-addext", f"subjectAltName={where}", "-keyout", folder / "key", "-out", certificate], check=True, capture_output=True)
    both.write_bytes(certificate.read_bytes() + (folder / "key").read_bytes())
    return certificate, both


@pytest.fixture(scope="module")
def secure(tmp_path_factory):
    """(a server that speaks TLS with a certificate of its own making for 127.0.0.1, that certificate)"""
    folder = tmp_path_factory.mktemp("secure")
    certificate, both = make_certificate(folder, "here", "IP:127.0.0.1")
    with ModelServer(folder / "machine", costs=QUICK, certificate=both) as model_server:
        yield model_server, certificate


def proxy_for(run, server, *words):
    watching = Watching(run, "--proxy", "127.0.0.1:0", "--upstream", server.url, "--sysroot", server.root, "--no-save", *words)
    return watching, watching.proxy()


def refused_for(run, server, why, *words):
    watching, address = proxy_for(run, server, *words)
    seen = len(server.server.seen)
    for _ in range(2):
        status, _, body = ask(address, "/v1/completions", 3, 3)
        assert status == 502 and "certificate" in json.loads(body)["error"]["message"] and why in body.decode()
    report = watching.end()
    assert report["all"]["requests"] is None and len(server.server.seen) == seen
    assert sum("certificate" in line for line in watching.lines) == 1


def test_https_without_trust_is_refused(run, secure):
    refused_for(run, secure[0], "self-signed")


def test_https_of_another_name_is_refused(run, tmp_path):
    certificate, both = make_certificate(tmp_path, "elsewhere", "DNS:elsewhere.example,IP:127.0.0.2")
    with ModelServer(tmp_path / "machine", costs=QUICK, certificate=both) as server:
        refused_for(run, server, "mismatch", "--upstream-ca", certificate)


@pytest.mark.parametrize("how", ["ca", "insecure"])
def test_https_upstream(run, secure, tmp_path, how):
    """Streams, whole answers, kept connections and much data both ways."""
    server, certificate = secure
    log = tmp_path / "log"
    watching, address = proxy_for(run, server, "--log", log, *(["--upstream-ca", certificate] if how == "ca" else ["--upstream-insecure"]))
    assert f"for https://127.0.0.1:{server.port}" in watching.lines[0]
    status, _, body = ask(address, "/v1/chat/completions", 10, 23)
    assert status == 200 and body.count(b'"delta"') == 23
    connection = http.client.HTTPConnection(address, timeout=LIMIT_S)
    connection.connect()
    socket_used = connection.sock
    for _ in range(2):
        connection.request("GET", "/large")
        assert connection.getresponse().read() == LARGE
        connection.request("POST", "/v1/completions", json.dumps({"prompt": "a b c", "max_tokens": 2, "padding": "x" * 3_000_000}))
        assert json.loads(connection.getresponse().read())["usage"]["prompt_tokens"] == 3
        assert connection.sock is socket_used
    connection.close()
    report = watching.end()
    assert report["endpoint"] == server.url
    assert report["all"]["requests"] == 3
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert sorted(line["tokens_out"] for line in lines if line["tokens_out"]) == [2, 2, 23]
    assert not any("does not answer" in line for line in watching.lines)


def test_a_slow_client_of_an_https_server_loses_nothing(run, secure):
    """What TLS has read already, poll does not show: it must not wait for more."""
    server, certificate = secure
    watching, address = proxy_for(run, server, "--upstream-ca", certificate)
    host, port = address.split(":")
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        connection.connect((host, int(port)))
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answer = b""
        while piece := connection.recv(50_000):
            answer += piece
            time.sleep(0.002)
    assert answer.endswith(b"\r\n\r\n" + LARGE)
    watching.end()


def test_trust_that_makes_no_sense(run, server, tmp_path):
    words = ["serve-watch", "--proxy", "127.0.0.1:0", "--upstream"]
    one_line(run(*words, server.url, "--upstream-insecure", check=2).stderr, "https")
    one_line(run(*words, "https://127.0.0.1:9", "--upstream-ca", tmp_path / "none.pem", check=2).stderr, "none.pem")
    one_line(run("serve-watch", "--endpoint", server.url, "--upstream-insecure", check=2).stderr, "--proxy")


@pytest.mark.parametrize("request_bytes,status", [
    (b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400),
    (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: x\r\nBroken header: 1\r\n\r\n", 400),
    (b"GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", 501),
    (b"GET / HTTP/3.0\r\nHost: x\r\n\r\n", 505),
    (b"GET / HTTP/1.1\r\nX: " + b"y" * 80000 + b"\r\n\r\n", 431),
], ids=["two lengths", "length and chunks", "space in a name", "upgrade", "version", "too long"])
def test_what_could_be_read_in_two_ways_is_refused(proxied, request_bytes, status):
    answer = raw(proxied[0], request_bytes)
    assert answer.startswith(b"HTTP/1.1 %d " % status)


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
