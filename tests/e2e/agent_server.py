"""The agent's HTTP server on a made-up node (tests/unit/app/agent/serve_node.cpp), started and asked."""
import contextlib
import http.client
import json
import os
import pathlib
import ssl
import subprocess
import urllib.parse

import jsonschema
import yaml

from conftest import built

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPENAPI = yaml.safe_load((ROOT / "docs/api/openapi.yaml").read_text(encoding="utf-8"))
TOKEN = "a-token-that-is-long-enough-0123456789"
LIMIT_S = 30


class Server:
    def __init__(self, process, addresses, certificate=None):
        self.process, self.addresses, self.certificate = process, addresses, certificate
        self.url = urllib.parse.urlsplit(addresses[0].replace("//0.0.0.0:", "//127.0.0.1:"))

    def connection(self):
        if self.url.scheme == "http":
            return http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=LIMIT_S)
        context = ssl.create_default_context(cafile=self.certificate)
        return http.client.HTTPSConnection(self.url.hostname, self.url.port, timeout=LIMIT_S, context=context)

    def get(self, path, method="GET", **headers):
        """Status, headers and text of one answer."""
        with contextlib.closing(self.connection()) as connection:
            connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()

    def json(self, path, status=200, **headers):
        got, _, text = self.get(path, **headers)
        assert got == status, text
        return json.loads(text)

    def stop(self):
        self.process.stdin.close()
        self.process.stdin = None
        rest, _ = self.process.communicate(timeout=LIMIT_S)
        return rest


def start(*options, token=None, **popen):
    program = built("standins/serve_node")
    assert program, "serve_node is not built"
    words = [str(program), *options] + (["--token-env", "SERVE_TOKEN"] if token else [])
    environment = {**os.environ, **({"SERVE_TOKEN": token} if token else {})}
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, **popen)


@contextlib.contextmanager
def serving(*options, token=None, certificate=None):
    process = start(*(options or ("--listen", "127.0.0.1:0", "--tick", "100")), token=token)
    addresses = []
    while (line := process.stdout.readline().strip()) != "ready":
        assert line, process.stderr.read()
        addresses.append(line)
    server = Server(process, addresses, certificate)
    try:
        while server.process.poll() is None and server.get("/api/v1/health", **({"Authorization": f"Bearer {token}"} if token else {}))[0] == 503:
            pass
        yield server
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(timeout=LIMIT_S)


def schema_of(path, status=200, kind="application/json"):
    responses = OPENAPI["paths"][path]["get"]["responses"]
    response = responses.get(str(status), responses["default"])
    if "$ref" in response:
        response = OPENAPI["components"]["responses"][response["$ref"].rsplit("/", 1)[1]]
    return response["content"][kind]["schema"]


def check(answer, schema):
    resolver = jsonschema.RefResolver.from_schema(OPENAPI)
    jsonschema.Draft202012Validator(schema, resolver=resolver).validate(answer)
