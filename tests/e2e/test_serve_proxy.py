"""The proxy of joulery serve-watch: what passes through it, what it refuses, and servers that speak TLS."""
import http.client
import json
import re
import socket
import subprocess
import time

import pytest

from conftest import LIMIT_S, one_line
from model_server import LARGE, ModelServer
from serving import QUICK, Watching, ask


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with ModelServer(tmp_path_factory.mktemp("server") / "machine", costs=QUICK) as model_server:
        yield model_server


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
