# scripts/test: timeout=900
"""A real server through the proxy: `transformers serve` with continuous batching and a tiny model on the CPU, 16 clients. What it costs is
told by the scripted machine's meter, which runs whether or not anybody works: here the sum is at stake, not the shares."""
# scripts/test: serial timeout=300
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time

import jsonschema
import pytest

from conftest import LIMIT_S, ROOT, STANDINS, microjoules

PYTHON = pathlib.Path(os.environ.get("JOULERY_TEST_PYTHON", ROOT / ".venv" / "bin" / "python"))
CLIENTS, REQUESTS_EACH, START_S = 16, 2, 150


def has_server():
    if not PYTHON.exists() or not (PYTHON.parent / "transformers").exists():
        return False
    probe = subprocess.run([PYTHON, "-c", "import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, ('torch', 'transformers', 'uvicorn', 'fastapi'))))"])
    return probe.returncode == 0


pytestmark = pytest.mark.skipif(not has_server(), reason=f"no transformers[serving] in {PYTHON.parent.parent}: scripts/setup frameworks")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def ask(address, model, words, tokens, stream=True):
    connection = http.client.HTTPConnection(address, timeout=LIMIT_S)
    body = {"model": model, "max_tokens": tokens, "stream": stream, "messages": [{"role": "user", "content": " ".join(["licence"] * words)}]}
    connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, text


@pytest.fixture(scope="module")
def real_server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_WAIT_POLICY": "passive", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    subprocess.run([PYTHON, STANDINS / "tiny_llama.py", folder / "model", ROOT / "LICENSE"], check=True, env=environment, timeout=LIMIT_S,
                   capture_output=True)
    port = free_port()
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen([PYTHON.parent / "transformers", "serve", str(folder / "model"), "--device", "cpu", "--port", str(port),
                                    "--continuous-batching"], stdout=log, stderr=log, env=environment)
    address, deadline = f"127.0.0.1:{port}", time.monotonic() + START_S
    while True:  # the first answer comes late: it warms up
        try:
            if ask(address, str(folder / "model"), 3, 4, stream=False)[0] == 200:
                break
        except OSError:
            pass
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            pytest.fail("the server never answered:\n" + (folder / "log").read_text(errors="replace")[-2000:])
        time.sleep(0.5)
    yield address, str(folder / "model")
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()


def test_requests_and_idle_are_the_energy_of_the_run(run, real_server, two_zones, tmp_path):
    address, model = real_server
    recording, log = tmp_path / "run.joulery", tmp_path / "log.jsonl"
    process = run.start("serve-watch", "--proxy", "127.0.0.1:0", "--upstream", f"http://{address}", "--sysroot", two_zones, "-o", recording,
                        "--log", log, "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    proxy = process.stderr.readline().split("http://")[1].split()[0]
    statuses = []

    def client(number):
        for turn in range(REQUESTS_EACH):
            statuses.append(ask(proxy, model, 4 + 5 * number, 8 + 2 * turn, stream=number % 2 == 0)[0])

    time.sleep(1)
    clients = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for one in clients:
        one.start()
    for one in clients:
        one.join()
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    report = json.loads(process.communicate(timeout=LIMIT_S)[0])
    jsonschema.Draft202012Validator(json.loads((ROOT / "data" / "schemas" / "serving.json").read_text())).validate(report)
    assert statuses == [200] * (CLIENTS * REQUESTS_EACH)
    everything = report["all"]
    assert everything["requests"] == CLIENTS * REQUESTS_EACH
    assert everything["tokens_out"] > 0 and everything["joules_per_output_token"] > 0 and everything["joules_per_request"] > 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(lines) == CLIENTS * REQUESTS_EACH
    assert all(line["tokens_out"] is not None and line["tokens_source"] in ("usage", "pieces") for line in lines)
    split = report["split"]
    active = microjoules(split["active_accelerators_joules"]) + microjoules(split["active_host_joules"])
    assert active + microjoules(split["idle_joules"]) == microjoules(report["energy"]["joules"])
    # Request by request, from the recording and the log.
    again = tmp_path / "again.jsonl"
    told = json.loads(run("serve-watch", "--recording", recording, "--requests", log, "--log", again, "--json", check=0).stdout)
    shares = [microjoules(json.loads(line)["joules"]) for line in again.read_text().splitlines()]
    assert len(shares) == CLIENTS * REQUESTS_EACH and all(share >= 0 for share in shares)
    assert sum(shares) + microjoules(told["split"]["idle_joules"]) == microjoules(run.report(recording)["energy"]["joules"])
