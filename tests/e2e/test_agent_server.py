"""How the agent's server stands up to the network: who may reach it, clients that are slow, many, rude or gone."""
import contextlib
import json
import os
import socket
import ssl
import subprocess
import time

import pytest

from agent_server import LIMIT_S, TOKEN, check, schema_of, serving, start


@pytest.fixture(scope="module")
def server():
    with serving("--listen", "127.0.0.1:0", "--listen", "[::1]:0", "--host", "node7.lan", "--tick", "100") as one:
        yield one


@pytest.fixture(scope="module")
def identity(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=joulery test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)],
                   check=True, capture_output=True)
    key.chmod(0o600)
    return str(certificate), str(key)


def plain(server):
    one = socket.create_connection((server.url.hostname, server.url.port), timeout=LIMIT_S)
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return one


def answer_to(server, raw):
    """The first line, and the body as JSON where it is, of what comes back for these bytes until the server hangs up."""
    with contextlib.closing(plain(server)) as one:
        one.sendall(raw)
        got = b""
        with contextlib.suppress(ConnectionResetError):
            while chunk := one.recv(65536):
                got += chunk
    head, _, body = got.partition(b"\r\n\r\n")
    return head.split(b"\r\n")[0].decode(), body.decode()


# ---- who may reach it --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host,status", [
    ("localhost", 200), ("LOCALHOST:9787", 200), ("127.0.0.1", 200), ("127.3.2.1:80", 200), ("[::1]:9787", 200), ("localhost.", 200),
    ("node7.lan:9787", 200), ("evil.example", 403), ("evil.example:9787", 403), ("127.0.0.1.evil.example", 403), ("localhost.evil.example", 403),
    ("[::2]", 403), ("10.0.0.1", 403), ("0.0.0.0", 403), ("", 403), ("localhost@evil.example", 403),
])
def test_a_page_under_another_name_gets_nothing(server, host, status):
    got, _, text = server.get("/api/v1/node", Host=host)
    assert got == status
    if status == 403:
        check(json.loads(text), schema_of("/api/v1/node", status=403))


def test_both_loopbacks_answer(server):
    assert len(server.addresses) == 2 and server.addresses[1].startswith("http://[::1]:")
    with socket.create_connection(("::1", int(server.addresses[1].rsplit(":", 1)[1])), timeout=LIMIT_S) as one:
        one.sendall(b"GET /api/v1/health HTTP/1.0\r\n\r\n")
        assert one.recv(100).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"])
def test_beyond_loopback_takes_tls_and_a_token(address, identity):
    certificate, key = identity
    for options, token, word in [((), None, "no TLS"), (("--cert", certificate, "--key", key), None, "no token"), ((), TOKEN, "no TLS"),
                                 (("--cert", certificate), TOKEN, "key")]:
        process = start("--listen", address, *options, token=token)
        _, said = process.communicate(timeout=LIMIT_S)
        assert process.returncode == 1 and word in said and "agent." in said, said


def test_a_key_that_others_may_read_is_refused(identity, tmp_path):
    certificate, key = identity
    open_key = tmp_path / "key.pem"
    open_key.write_bytes(open(key, "rb").read())
    open_key.chmod(0o644)
    process = start("--listen", "127.0.0.1:0", "--cert", certificate, "--key", str(open_key))
    _, said = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 1 and "open to others" in said


def test_two_servers_cannot_share_an_address(server):
    process = start("--listen", f"127.0.0.1:{server.url.port}")
    _, said = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 1 and "another program listens there" in said


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
def test_tls_and_token_beyond_loopback(identity):
    certificate, key = identity
    with serving("--listen", "0.0.0.0:0", "--cert", certificate, "--key", key, "--tick", "100", token=TOKEN, certificate=certificate) as server:
        port = server.url.port
        answer = server.json("/api/v1/node", Authorization=f"Bearer {TOKEN}")
        assert answer["rounded"] is False
        for path in ("/", "/metrics", "/api/v1/health", "/api/v1/events"):
            assert server.get(path)[0] == 401, path
        # A machine elsewhere calls it by another name, and its stream stays what it began as.
        with contextlib.closing(server.connection()) as connection:
            connection.request("GET", "/api/v1/events", headers={"Authorization": f"Bearer {TOKEN}", "Host": f"node7.example:{port}"})
            events = connection.getresponse()
            told = []
            while len(told) < 4:
                line = events.readline()
                assert line
                if line.startswith(b"data: "):
                    told.append(json.loads(line[6:]))
            assert [event["rounded"] for event in told] == [False] * 4
        # No plain text on this port, no old TLS.
        with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) as one:
            one.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            with contextlib.suppress(ConnectionResetError):
                assert b"joulery" not in one.recv(4096)
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
        old.set_ciphers("ALL:@SECLEVEL=0")
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises((ssl.SSLError, ConnectionError)):
            old.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S))
        # A client that hangs up in the middle of a stream or of its handshake harms nobody.
        context = ssl.create_default_context(cafile=certificate)
        for _ in range(5):
            one = context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S), server_hostname="127.0.0.1")
            one.sendall(f"GET /api/v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
            assert b"200 OK" in one.recv(4096)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            one.close()
            socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S).close()
        first = server.json("/api/v1/health", Authorization=f"Bearer {TOKEN}")["ticks"]
        while server.json("/api/v1/health", Authorization=f"Bearer {TOKEN}")["ticks"] < first + 3:
            pass
        assert server.stop().strip() == "stopped"


# ---- what it is sent ---------------------------------------------------------------------------------------------

HOST = b"Host: localhost\r\n"


@pytest.mark.parametrize("raw,status", [
    (b"GET / HTTP/1.1\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\n" + HOST + HOST + b"\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost : localhost\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\n" + HOST + b"X: a\r\n b\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\n" + HOST + b"X: a\0b\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\n" + HOST + b"X: a\nY: b\r\n\r\n", 400),
    (b"GET http://localhost/ HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    (b"GET /#x HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    (b"GET /a b HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    (b"GET /?x=%0d%0aSet-Cookie:1 HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    (b"GET /\r\n\r\n", 400),
    (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", 400),
    (b"GET / HTTP/2.0\r\n" + HOST + b"\r\n", 505),
    (b"GET /" + b"a" * 5000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 414),
    (b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 20000 + b"\r\n\r\n", 431),
    (b"GET / HTTP/1.1\r\n" + HOST + b"X: 1\r\n" * 100 + b"\r\n", 431),
    (b"GET / HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\n\r\nhello", 413),
    (b"GET / HTTP/1.1\r\n" + HOST + b"Content-Length: 0\r\nContent-Length: 9\r\nConnection: close\r\n\r\n", 413),
    (b"GET / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501),
    (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 100000\r\n\r\n" + b"x" * 100000, 413),
])
def test_what_makes_no_sense_is_refused(server, raw, status):
    line, body = answer_to(server, raw)
    assert line.startswith(f"HTTP/1.1 {status} "), line
    check(json.loads(body), schema_of("/api/v1/node", status=400))


def test_many_requests_at_once_are_answered_in_their_order(server):
    with contextlib.closing(plain(server)) as one:
        one.sendall((b"GET /nothing HTTP/1.1\r\n" + HOST + b"\r\n" + b"HEAD /metrics HTTP/1.1\r\n" + HOST + b"\r\n") * 50 +
                    b"GET / HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
        got = b""
        while chunk := one.recv(65536):
            got += chunk
    lines = [line for line in got.split(b"\r\n") if b"HTTP/1.1 " in line]
    assert [line.rsplit(b"HTTP/1.1 ", 1)[1][:3] for line in lines] == [b"404", b"200"] * 50 + [b"200"]


def test_a_request_may_come_byte_by_byte(server):
    with contextlib.closing(plain(server)) as one:
        for byte in b"\r\nGET /api/v1/health HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n":
            one.sendall(bytes([byte]))
        assert one.recv(100).startswith(b"HTTP/1.1 200")


# ---- clients that are slow, many or gone -------------------------------------------------------------------------


def test_clients_that_say_nothing_do_not_keep_others_out(server):
    with contextlib.ExitStack() as stack:
        idle = [stack.enter_context(contextlib.closing(plain(server))) for _ in range(300)]
        for one in idle[::2]:
            with contextlib.suppress(OSError):
                one.sendall(b"GET /api")
        for _ in range(20):
            assert server.get("/api/v1/health")[0] == 200


def test_no_more_streams_than_there_is_room_for(server):
    with contextlib.ExitStack() as stack:
        taken = []
        for _ in range(40):
            one = stack.enter_context(contextlib.closing(plain(server)))
            one.sendall(b"GET /api/v1/events HTTP/1.1\r\n" + HOST + b"\r\n")
            taken.append(one.recv(12)[9:])
        assert taken == [b"200"] * 32 + [b"503"] * 8
        assert server.get("/api/v1/health")[0] == 200


def resident_kb(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def test_a_client_that_reads_nothing_loses_events_and_costs_little():
    with serving("--listen", "127.0.0.1:0", "--tick", "1") as server, contextlib.ExitStack() as stack:
        for _ in range(20):
            one = stack.enter_context(contextlib.closing(socket.socket()))
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.connect((server.url.hostname, server.url.port))
            one.sendall(b"GET /api/v1/events HTTP/1.1\r\n" + HOST + b"\r\n")
        before, first = resident_kb(server.process), server.json("/api/v1/health")["ticks"]
        while server.json("/api/v1/health")["ticks"] < first + 500:
            pass
        assert resident_kb(server.process) < before + 20 * 300  # 256 KiB each at most


def open_descriptors(process):
    return len(os.listdir(f"/proc/{process.pid}/fd"))


def test_clients_that_are_gone_leave_nothing_behind(server):
    before = open_descriptors(server.process)
    for _ in range(200):
        with contextlib.closing(plain(server)) as one:
            one.sendall(b"GET /metrics HTTP/1.1\r\n" + HOST + b"\r\n")
    while open_descriptors(server.process) > before + 2:
        server.get("/")
        time.sleep(0.01)


def test_stops_at_once_with_clients_of_every_sort():
    with serving("--listen", "127.0.0.1:0", "--tick", "100") as server, contextlib.ExitStack() as stack:
        for begin in (b"", b"GET /", b"GET /api/v1/events HTTP/1.1\r\n" + HOST + b"\r\n", b"GET / HTTP/1.1\r\n" + HOST + b"\r\n"):
            for _ in range(5):
                one = stack.enter_context(contextlib.closing(plain(server)))
                one.sendall(begin)
        assert server.get("/")[0] == 200
        assert server.stop().strip() == "stopped"  # within the limit of any wait here, none of which is a time-out of the server's
        assert server.process.returncode == 0
