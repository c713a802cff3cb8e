"""Real engines on loopback for tests: Prometheus and VictoriaMetrics from Debian's packages, and a receiver of OTLP that decodes.

Each is started in a folder of its own on a free port, may be killed and started again on the same port, and is stopped at the end.
"""
import http.server
import json
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

LIMIT_S = 60


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Engine:
    """What both have in common: start, kill, and questions in PromQL."""
    program, write_path, ready_path = "", "", ""

    def __init__(self, folder):
        self.folder, self.port, self.process = folder, free_port(), None
        folder.mkdir(parents=True, exist_ok=True)

    @classmethod
    def installed(cls):
        return shutil.which(cls.program) is not None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def write_url(self):
        return self.url + self.write_path

    def words(self):
        raise NotImplementedError

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(self.words(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder)
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(self.url + self.ready_path, timeout=5) as answer:
                    if answer.status == 200:
                        return self
            except (urllib.error.URLError, OSError):
                assert self.process.poll() is None, (self.folder / "log").read_text()
                time.sleep(0.05)
        raise AssertionError(f"{self.program} does not become ready")

    def kill(self, how=signal.SIGKILL):
        self.process.send_signal(how)
        self.process.wait(timeout=LIMIT_S)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.kill()

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def settle(self):
        """All that was taken can be asked for."""

    def ask(self, query, at_ms):
        """[(labels, value as text)] of an instant query."""
        self.settle()
        words = urllib.parse.urlencode({"query": query, "time": f"{at_ms / 1000:.3f}"}).encode()
        with urllib.request.urlopen(self.url + "/api/v1/query", words, timeout=LIMIT_S) as answer:
            found = json.load(answer)
        assert found["status"] == "success", found
        return [(row["metric"], row["value"][1]) for row in found["data"]["result"]]


class Prometheus(Engine):
    program, write_path, ready_path = "prometheus", "/api/v1/write", "/-/ready"

    def words(self):
        (self.folder / "prometheus.yml").write_text("global: {scrape_interval: 1h}\n")
        return [self.program, f"--config.file={self.folder}/prometheus.yml", f"--storage.tsdb.path={self.folder}/data",
                f"--web.listen-address=127.0.0.1:{self.port}", "--web.enable-remote-write-receiver", "--log.level=warn"]


class VictoriaMetrics(Engine):
    program, write_path, ready_path = "victoria-metrics", "/api/v1/write", "/health"

    def words(self):
        return [self.program, f"-storageDataPath={self.folder}/data", f"-httpListenAddr=127.0.0.1:{self.port}",
                "-search.latencyOffset=0s", "-search.disableCache", "-loggerLevel=WARN", "-memory.allowedPercent=10", "-search.maxUniqueTimeseries=1000000"]


    def settle(self):
        with urllib.request.urlopen(self.url + "/internal/force_flush", timeout=LIMIT_S) as answer:
            assert answer.status == 200


class OtlpReceiver:
    """Takes ExportMetricsServiceRequests; `answer` may be changed to any (status, headers, body)."""

    def __init__(self):
        self.requests, self.answer, self.lock = [], (200, {"Content-Type": "application/x-protobuf"}, b""), threading.Lock()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with receiver.lock:
                    status, headers, reply = receiver.answer
                    receiver.requests.append((self.path, dict(self.headers), body))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
