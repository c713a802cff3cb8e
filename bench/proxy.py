#!/usr/bin/python3
"""What the proxy of `joulery serve-watch` adds to a request, beside the same request sent directly: a small server on loopback answers at
once, whole or in a stream, and both ways take turns. Kept connections, so that what is compared is the relay alone. Then the same server behind
TLS: what is added is the relay and the TLS that its client is spared.
"""
import json
import os
import re
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import threading
import time

import stage

TURNS, WARM = 1500, 50
LIMIT_MS = 1.0
USAGE = {"id": "x", "model": "m", "choices": [{"text": "hello"}], "usage": {"prompt_tokens": 7, "completion_tokens": 9}}
PIECE = b'data: {"id":"x","choices":[{"delta":{"content":"a"}}]}\n\n'
WHOLE = json.dumps(USAGE).encode()
ANSWERS = {
    "whole": b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(WHOLE), WHOLE),
    "stream": b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
              + b"".join(b"%x\r\n%s\r\n" % (len(PIECE), PIECE) for _ in range(20)) + b"0\r\n\r\n",
}


def serve(connection):
    """Answers each request of a connection by the form that its path names; bodies are short and come with their heads."""
    with connection:
        while head := connection.recv(65536):
            connection.sendall(ANSWERS["stream" if head.startswith(b"POST /stream") else "whole"])


def listen(certificate=None):
    """Where it listens; `certificate`: a file with one and its key, to speak TLS."""
    server = socket.create_server(("127.0.0.1", 0))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if certificate else None
    if context:
        context.load_cert_chain(certificate)

    def accept():
        while True:
            connection, _ = server.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if context:
                connection = context.wrap_socket(connection, server_side=True)
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return server.getsockname()


class Client:
    def __init__(self, address):
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask_ms(self, form):
        """Until the first byte of the answer, and until its last."""
        body = b'{"model":"m","prompt":"hello"}'
        begin = time.perf_counter()
        self.socket.sendall(b"POST /%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (form.encode(), len(body), body))
        answer = self.socket.recv(65536)
        first = time.perf_counter()
        end = b"0\r\n\r\n" if form == "stream" else b"}}"
        while not answer.endswith(end):
            answer += self.socket.recv(65536)
        return (first - begin) * 1e3, (time.perf_counter() - begin) * 1e3


def make_certificate(folder):
    file = os.path.join(folder, "certificate.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=bench",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", file, "-out", file + ".crt"], check=True, capture_output=True)
    with open(file, "a", encoding="ascii") as both, open(file + ".crt", encoding="ascii") as certificate:
        both.write(certificate.read())
    return file


class Proxy:
    def __init__(self, root, url, *words):
        self.process = subprocess.Popen([stage.JOULERY, "serve-watch", "--proxy", "127.0.0.1:0", "--upstream", url, "--sysroot", root, "--no-save", "--json",
                                         *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        through = re.search(r"proxy at http://([0-9.]+):(\d+)", self.process.stderr.readline())
        self.address = through.group(1), int(through.group(2))

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)


def main():
    stage.need(stage.JOULERY)
    folder = stage.home()
    with stage.Tree(folder.name) as tree:
        host, port = listen()
        certificate = make_certificate(folder.name)
        tls_port = listen(certificate)[1]
        proxies = [Proxy(tree.root, f"http://{host}:{port}"), Proxy(tree.root, f"https://{host}:{tls_port}", "--upstream-ca", certificate)]
        ways = {"direct": Client((host, port)), "through the proxy": Client(proxies[0].address), "through the proxy, TLS behind": Client(proxies[1].address)}
        times = {(form, way): ([], []) for form in ANSWERS for way in ways}
        for turn in range(TURNS + WARM):
            for form in ANSWERS:
                for way, client in ways.items():
                    first, last = client.ask_ms(form)
                    if turn >= WARM:
                        times[form, way][0].append(first)
                        times[form, way][1].append(last)
        for proxy in proxies:
            proxy.end()
    rows, results = [], []
    for form in ANSWERS:
        base = [statistics.median(values) for values in times[form, "direct"]]
        for way in ways:
            median = [statistics.median(values) for values in times[form, way]]
            added = median[1] - base[1]
            rows.append([f"{form}, {way}", f"{median[0]:.3f}", f"{median[1]:.3f}", f"{statistics.quantiles(times[form, way][1], n=100)[98]:.3f}", f"{added:+.3f}"])
            if way != "direct":
                results.append(stage.result(f"what the answer takes longer {way} ({form})", f"{added:.3f} ms", f"< {LIMIT_MS:g} ms", added < LIMIT_MS))
    stage.table(f"Proxy: one request on a kept connection, {TURNS} turns (load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs)",
                ["answer", "first byte, median ms", "last byte, median ms", "99 % ms", "added ms"], rows)
    stage.tell(results)


if __name__ == "__main__":
    sys.exit(main())
