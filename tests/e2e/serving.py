"""What the tests of joulery serve-watch share: requests of two kinds, and the program beside them."""
import http.client
import json
import random
import re
import signal
import subprocess
import threading
import time

import jsonschema

from conftest import LIMIT_S, ROOT, microjoules
from model_server import MODEL, Costs
from planned_engine import Arrival

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
