"""A meter with a web page, for tests: pages over HTTP or HTTPS on loopback, with a Redfish login by session where wanted, and the faults
that real ones have: silence, slowness, rubbish, and not being there.

    with WebMeter({"/power": '{"watts": 42}'}) as meter:
        meter.url("/power")
        meter.mode = "silent"       # "good", "slow", "rubbish"
        meter.vanish(); meter.come_back()
"""
import http.server
import json
import pathlib
import random
import ssl
import subprocess
import threading
import time

SLOW_S = 5.0


def make_certificate(folder):
    """A certificate for localhost that signs itself: (certificate, key)."""
    folder = pathlib.Path(folder)
    certificate, key = folder / "meter.crt", folder / "meter.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)],
                   check=True, capture_output=True)
    return certificate, key


def redfish_pages(root):
    """The pages of a Redfish mock-up: every index.json under its path."""
    root = pathlib.Path(root)
    pages = {}
    for file in root.rglob("index.json"):
        below = file.parent.relative_to(root).as_posix()
        pages["/redfish/v1" + ("" if below == "." else "/" + below)] = file.read_text()
    return pages


class WebMeter:
    def __init__(self, pages, certificate=None, login=None):
        self.pages, self.certificate, self.login = pages, certificate, login
        self.mode, self.requests, self.arrivals, self.tokens = "good", [], [], set()
        self.stopping = threading.Event()
        self.server, self.port = None, 0
        self.random = random.Random(7)

    def __enter__(self):
        self.come_back()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.vanish()

    def url(self, path=""):
        return f"{'https' if self.certificate else 'http'}://localhost:{self.port}{path}"

    def come_back(self):
        meter = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                meter.answer(self)

            do_POST = do_DELETE = do_GET

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, *_):  # a client that gave up is no news
                pass

        self.server = Server(("127.0.0.1", self.port), Handler)
        self.port = self.server.server_address[1]
        if self.certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*map(str, self.certificate))
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def vanish(self):
        if self.server:
            self.server.shutdown()
            self.server.server_close()
            self.server = None

    def answer(self, handler):
        length = int(handler.headers.get("Content-Length") or 0)
        body = handler.rfile.read(length)
        path = handler.path.split("?")[0].rstrip("/") or "/"
        self.arrivals.append(time.monotonic())
        self.requests.append((handler.command, handler.path, dict(handler.headers)))
        if self.mode == "silent":
            self.stopping.wait(60)
            return
        if self.mode == "slow":
            self.stopping.wait(SLOW_S)
        if self.mode == "rubbish":
            return self.send(handler, 200, self.damaged(path))
        if self.login and path != "/redfish/v1":
            return self.answer_with_login(handler, path, body)
        self.send_page(handler, path)

    def damaged(self, path):
        """The page with some of its bytes changed, or bytes alone."""
        page = bytearray(self.pages.get(path, "").encode() or b"{}")
        for _ in range(self.random.randrange(1, 20)):
            page[self.random.randrange(len(page))] = self.random.randrange(256)
        return bytes(page) if self.random.random() < 0.7 else self.random.randbytes(200)

    def answer_with_login(self, handler, path, body):
        if handler.command == "POST" and path.endswith("/Sessions"):
            told = json.loads(body)
            if (told.get("UserName"), told.get("Password")) != self.login:
                return self.send(handler, 401, b"{}")
            token = f"token-{len(self.requests)}"
            self.tokens.add(token)
            return self.send(handler, 201, b"{}", {"X-Auth-Token": token, "Location": "/redfish/v1/SessionService/Sessions/" + token})
        token = handler.headers.get("X-Auth-Token")
        if token not in self.tokens:
            return self.send(handler, 401, b"{}")
        if handler.command == "DELETE":
            self.tokens.discard(path.rsplit("/", 1)[1])
            return self.send(handler, 204, b"")
        self.send_page(handler, path)

    def send_page(self, handler, path):
        page = self.pages.get(path)
        if page is None:
            return self.send(handler, 404, b"{}")
        self.send(handler, 200, (page() if callable(page) else page).encode())

    @staticmethod
    def send(handler, status, body, headers=None):
        try:
            handler.send_response(status)
            for name, value in (headers or {}).items():
                handler.send_header(name, value)
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)
        except OSError:
            pass  # the client went away


def counting_page(watts):
    """A page whose energy counter runs at so many watts."""
    begin = time.monotonic()
    return lambda: json.dumps({"watts": watts, "joules": 1000 + watts * (time.monotonic() - begin)})
