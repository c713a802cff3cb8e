#!/usr/bin/python3
"""A model server for tests that batches continuously and whose energy is known to the request: OpenAI-style answers over HTTP, metrics
as vLLM publishes them, a request log, and a machine of plain files (scripted_tree.py) whose RAPL counter burns what its tokens cost.

    with ModelServer(root) as server:
        server.url                      # POST /v1/completions, /v1/chat/completions (streamed or not); GET /metrics
        server.root                     # for joulery --sysroot
        server.truth                    # joules of each request, by id
        server.restart()                # counters begin anew, as after a restart

It answers whoever asks, in real time (Engine); its truth is as good as the machine is punctual. planned_engine.py has one that cannot be late.

Run alone it plays until interrupted: model_server.py ROOT.
"""
import dataclasses
import http.server
import itertools
import json
import queue
import ssl
import sys
import threading
import time

from scripted_tree import ScriptedTree

MODEL = "tiny-random"
LARGE = bytes(range(256)) * 16384  # 4 MiB


@dataclasses.dataclass(frozen=True)
class Costs:
    """idle_w all the time; prefill_j for each token of a prompt, decode_j for each of an answer, step_j for each step, shared equally by those
    who are in it. A step takes step_s, and prefill_s for each token of a prompt that is read in it."""
    idle_w: float = 20.0
    prefill_j: float = 0.02
    decode_j: float = 0.3
    step_j: float = 0.0
    step_s: float = 0.02
    prefill_s: float = 1e-4
    most_batch: int = 16

    def shares(self, batch):
        """Joules of each job in a step of `batch`."""
        common = self.step_j / len(batch)
        return [common + (job.left_in * self.prefill_j if job.left_in > 0 else self.decode_j) for job in batch]

    def length(self, batch):
        return self.step_s + self.prefill_s * sum(job.left_in for job in batch)


class Job:
    def __init__(self, number, path, model, tokens_in, tokens_out):
        self.id, self.path, self.model = f"req-{number}", path, model
        self.tokens_in, self.tokens_out = tokens_in, tokens_out
        self.left_in, self.left_out = tokens_in, tokens_out
        self.pieces = queue.Queue()
        self.start = time.time()
        self.first = self.end = None
        self.cancelled = False

    def line(self):
        return {"id": self.id, "model": self.model, "group": self.path, "start": self.start, "first_token": self.first, "end": self.end,
                "tokens_in": self.tokens_in, "tokens_out": self.tokens_out}


class Engine:
    """Works in steps on all jobs that are there, and adds up what each has cost."""

    def __init__(self, costs):
        self.costs = costs
        self.lock, self.work = threading.Lock(), threading.Event()
        self.waiting, self.batch, self.ended = [], [], []
        self.truth, self.joules = {}, 0.0
        self.step_begin = self.step_end = time.monotonic()
        self.step_cost = 0.0
        self.counts = {}
        self.stopping = False
        self.numbers = itertools.count(1)

    def submit(self, path, model, tokens_in, tokens_out, _name=None):
        with self.lock:
            job = Job(next(self.numbers), path, model, tokens_in, tokens_out)
            self.truth[job.id] = 0.0
            self.waiting.append(job)
        self.work.set()
        return job

    def count(self, model, what, number):
        of_model = self.counts.setdefault(model, {"prompt": 0, "generation": 0, "requests": 0})
        of_model[what] += number

    def dynamic_joules(self):
        """Above idle up to now; a step's energy goes evenly over its time, as a meter would see it."""
        now = time.monotonic()
        with self.lock:
            length = self.step_end - self.step_begin
            share = 1.0 if length <= 0 else min(1.0, max(0.0, (now - self.step_begin) / length))
            return self.joules + self.step_cost * share

    def play(self):
        while not self.stopping:
            with self.lock:
                self.batch = [job for job in self.batch if not job.cancelled]
                while self.waiting and len(self.batch) < self.costs.most_batch:
                    self.batch.append(self.waiting.pop(0))
                batch = list(self.batch)
                if not batch:
                    self.work.clear()
            if not batch:
                self.work.wait(0.05)
                continue
            self.step(batch)

    def step(self, batch):
        shares, length = self.costs.shares(batch), self.costs.length(batch)
        with self.lock:
            self.step_begin = max(self.step_end, time.monotonic())
            self.step_end = self.step_begin + length
            self.step_cost = sum(shares)
        ends = time.time() + self.step_end - time.monotonic()
        time.sleep(max(0.0, self.step_end - time.monotonic()))
        with self.lock:
            self.joules += self.step_cost
            self.step_cost = 0.0
            for job, cost in zip(batch, shares):
                self.truth[job.id] += cost
                if job.left_in > 0:
                    self.count(job.model, "prompt", job.left_in)
                    job.left_in = 0
                    job.first = ends
                job.left_out -= 1
                self.count(job.model, "generation", 1)
                job.pieces.put("a ")
                if job.left_out <= 0:
                    job.end = ends
                    self.count(job.model, "requests", 1)
                    self.ended.append(job)
                    self.batch.remove(job)
                    job.pieces.put(None)

    def metrics(self):
        with self.lock:
            return vllm_page(len(self.batch), self.counts)


def vllm_page(running, counts_by_model):
    lines = [f'vllm:num_requests_running{{engine="0",model_name="{MODEL}"}} {running}']
    for model, counts in counts_by_model.items():
        labels = f'engine="0",model_name="{model}"'
        lines += [f'vllm:prompt_tokens_total{{{labels}}} {counts["prompt"]}.0', f'vllm:generation_tokens_total{{{labels}}} {counts["generation"]}.0',
                  f'vllm:request_success_total{{finished_reason="length",{labels}}} {counts["requests"]}.0']
    return "\n".join(lines) + "\n"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/metrics":
            self.answer(200, "text/plain; version=0.0.4", self.server.engine.metrics().encode())
        elif self.path == "/large":
            self.answer(200, "application/octet-stream", LARGE)
        else:
            self.answer(200, "application/json", b'{"data": []}')

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        whole = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            whole += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return whole

    def do_POST(self):
        body = self.body()
        self.server.seen.append((self.path, dict(self.headers), len(body)))
        asked = json.loads(body)
        prompt = asked.get("prompt") or " ".join(message["content"] for message in asked.get("messages", []))
        job = self.server.engine.submit(self.path, asked.get("model", MODEL), len(prompt.split()), int(asked.get("max_tokens", 16)),
                                        asked.get("user"))
        try:
            (self.stream if asked.get("stream") else self.whole)(job, asked)
        except OSError:
            job.cancelled = True
            self.server.cancelled.append(job.id)
            self.close_connection = True

    def usage(self, job):
        return {"prompt_tokens": job.tokens_in, "completion_tokens": job.tokens_out, "total_tokens": job.tokens_in + job.tokens_out}

    def whole(self, job, _):
        while job.pieces.get() is not None:
            pass
        text = {"id": job.id, "object": "text_completion", "model": job.model, "choices": [{"index": 0, "text": "a " * job.tokens_out}], "usage": self.usage(job)}
        self.answer(200, "application/json", json.dumps(text).encode())

    def stream(self, job, asked):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while (piece := job.pieces.get()) is not None:
            self.event({"id": job.id, "model": job.model, "choices": [{"index": 0, "delta": {"content": piece}}]})
        if asked.get("stream_options", {}).get("include_usage"):
            self.event({"id": job.id, "model": job.model, "choices": [], "usage": self.usage(job)})
        self.chunk(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def event(self, value):
        self.chunk(b"data: " + json.dumps(value).encode() + b"\n\n")

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_):
        pass


class ModelServer:
    """`engine`: another than one that works in real time at these costs. `certificate`: a file with one and its key, to speak TLS."""

    def __init__(self, root, port=0, engine=None, costs=Costs(), certificate=None):
        self.root, self.engine = str(root), engine or Engine(costs)
        idle_w = self.engine.costs.idle_w
        self.tree = ScriptedTree(self.root, [("intel-rapl:0", "package-0", idle_w)])
        zone = self.tree.zones["intel-rapl:0"]
        zone.true_joules = lambda seconds: idle_w * seconds + self.engine.dynamic_joules()
        self.server = Server(("127.0.0.1", port), Handler)
        self.scheme = "https" if certificate else "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.server.engine, self.server.seen, self.server.cancelled = self.engine, [], []

    @property
    def port(self):
        return self.server.server_address[1]

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.port}"

    @property
    def truth(self):
        return self.engine.truth

    def restart(self):
        with self.engine.lock:
            self.engine.counts = {}

    def write_log(self, path):
        with open(path, "w", encoding="utf-8") as file:
            for job in self.engine.ended:
                file.write(json.dumps(job.line()) + "\n")

    def __enter__(self):
        self.tree.__enter__()
        for target in (self.engine.play, self.server.serve_forever):
            threading.Thread(target=target, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.engine.stopping = True
        self.server.shutdown()
        self.server.server_close()
        self.tree.__exit__()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with ModelServer(sys.argv[1]) as alone:
        print(f"{alone.url} with its machine in {alone.root}", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            pass
