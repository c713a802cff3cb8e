#!/usr/bin/python3
"""What watching a node costs: the agent at 1 Hz, asked for /metrics once a second, beside others that do a part of it, with 200
processes (20 of them lightly busy) and with 5,000 more that sleep. All see the same zones of RAPL, and all are asked as often.

CPU time is that of the tool's whole process tree between two moments in the middle of its run.
"""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import stage
from peer_loop import descendants

SETTLED_S, WATCHED_S = 4, 20
BUSY, FEW, MANY = 20, 180, 5000
LIMITS = {"200": 0.3, "5,000": 0.6}
RSS_LIMIT_MB = 40.0
BUSY_LOOP = "i=0; while :; do i=$((i+1)); [ $((i%3000)) -eq 0 ] && sleep 0.05; done"
CODECARBON = """
import logging, time
logging.disable(logging.CRITICAL)
from codecarbon import OfflineEmissionsTracker
tracker = OfflineEmissionsTracker(country_iso_code="DEU", measure_power_secs=1, save_to_file=False, tracking_mode="MODE", log_level="critical")
tracker.start()
print("ready", flush=True)
time.sleep(600)
"""
ZEUS = """
import time
if __name__ == "__main__":
    from zeus.monitor import ZeusMonitor
    monitor = ZeusMonitor(gpu_indices=[])
    print("ready", flush=True)
    deadline = time.monotonic()
    while True:
        monitor.begin_window("tick")
        deadline += 1
        time.sleep(max(0, deadline - time.monotonic()))
        monitor.end_window("tick")
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Crowd:
    """Processes to be watched: some lightly busy, the others asleep."""

    def __init__(self, busy, asleep):
        script = f"for i in $(seq {busy}); do sh -c '{BUSY_LOOP}' & done; for i in $(seq {asleep}); do sleep 3600 & done; echo there; wait"
        self.child = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.child.stdout.readline()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()


def cpu_and_rss(pids):
    cpu = rss = 0
    for pid in pids:
        try:
            cpu += time.clock_gettime(~pid << 3 | 2)  # the process' own clock, with the threads that have ended
            rss += next((int(line.split()[1]) for line in open(f"/proc/{pid}/status", encoding="ascii", errors="replace") if line.startswith("VmRSS")), 0)
        except OSError:
            pass
    return cpu, rss / 1024


def scrape(url, seconds):
    """Asks once a second; how often an answer came."""
    answers, deadline = 0, time.monotonic()
    for _ in range(seconds):
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                answer.read()
                answers += 1
        except OSError:
            pass
        deadline += 1
        time.sleep(max(0.0, deadline - time.monotonic()))
    return answers


def watch(tree, words, url_of, own):
    """CPU seconds a minute, resident MB, answers a second. `url_of` makes the address from the first line; `own`: the tool's comm."""
    child = subprocess.Popen([stage.WITH_RAPL, "--tree", tree.root, "--", *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                             start_new_session=True)
    try:
        url = url_of(child)
        time.sleep(SETTLED_S)
        pids = {pid for pid in descendants(child.pid) if own(pathlib.Path(f"/proc/{pid}/comm").read_text().strip())}
        before, begin = cpu_and_rss(pids)[0], time.monotonic()
        answers = scrape(url, WATCHED_S) if url else time.sleep(WATCHED_S)
        cpu, rss = cpu_and_rss(pids)
        late = json.loads(urllib.request.urlopen(url.replace("/metrics", "/api/v1/health"), timeout=5).read())["late_ticks"] if "agent" in words else None
        return {"cpu": (cpu - before) / (time.monotonic() - begin) * 60, "rss": rss, "answers": answers, "late": late}
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def tools(folder):
    """Name, words, address, and which of its processes are it."""
    ports = [free_port() for _ in range(3)]
    groups = pathlib.Path(folder) / "groups.yml"
    groups.write_text('process_names:\n  - name: "{{.PID}}"\n    cmdline: [".+"]\n', encoding="ascii")
    first_line = lambda child: re.search(r"http://[0-9.:]+", child.stdout.readline()).group(0) + "/metrics"  # noqa: E731
    fixed = lambda port: lambda child: time.sleep(2) or f"http://127.0.0.1:{port}/metrics"  # noqa: E731
    quiet = lambda child: child.stdout.readline() and None  # noqa: E731
    python = lambda comm: comm.startswith(("python", "pt_", "Zeus"))  # noqa: E731
    yield "joulery agent", [stage.JOULERY, "agent", "--store", f"{folder}/store", "--listen", "127.0.0.1:0"], first_line, lambda c: c == "joulery-agent"
    yield ("node_exporter, RAPL alone", ["prometheus-node-exporter", "--collector.disable-defaults", "--collector.rapl",
                                         f"--web.listen-address=127.0.0.1:{ports[0]}"], fixed(ports[0]), lambda c: c.startswith("prometheus-nod"))
    yield ("process-exporter, a group per process", ["prometheus-process-exporter", f"--config.path={groups}", f"--web.listen-address=127.0.0.1:{ports[1]}"],
           fixed(ports[1]), lambda c: c.startswith("prometheus-pro"))
    yield "CodeCarbon, machine", [str(stage.PEERS), "-c", CODECARBON.replace("MODE", "machine")], quiet, python
    yield "CodeCarbon, process", [str(stage.PEERS), "-c", CODECARBON.replace("MODE", "process")], quiet, python
    script = pathlib.Path(folder) / "zeus_loop.py"
    script.write_text(ZEUS, encoding="ascii")
    yield "Zeus", [str(stage.PEERS), str(script)], quiet, python


def main():
    stage.need(stage.JOULERY, str(stage.BUILD / "joulery-agent"), stage.PEERS)
    folder = stage.home()
    results, rows = [], []
    with stage.Tree(folder.name) as tree:
        for crowd, asleep in (("200", FEW), ("5,000", MANY)):
            with Crowd(BUSY, asleep):
                for name, words, url_of, own in tools(folder.name):
                    try:
                        seen = watch(tree, words, url_of, own)
                    except (OSError, AttributeError, ValueError) as error:
                        rows.append([name, crowd, "-", "-", f"did not run: {error}"[:50]])
                        continue
                    rows.append([name, crowd, f"{seen['cpu']:.2f}", f"{seen['rss']:.0f}", "-" if seen["answers"] is None else f"{seen['answers']} of {WATCHED_S}"])
                    if name != "joulery agent":
                        continue
                    limit = LIMITS[crowd]
                    results += [stage.result(f"CPU s a minute of the agent, {crowd} processes", f"{seen['cpu']:.2f}", f"<= {limit}", seen["cpu"] <= limit),
                                stage.result(f"resident memory of the agent, {crowd} processes", f"{seen['rss']:.0f} MB", f"<= {RSS_LIMIT_MB:g} MB",
                                             seen["rss"] <= RSS_LIMIT_MB),
                                stage.result(f"late ticks of the agent, {crowd} processes", str(seen["late"]), "0", seen["late"] == 0)]
    stage.table(f"Watching a node at 1 Hz, asked once a second for {WATCHED_S} s", ["tool", "processes", "CPU s a minute", "RSS MB", "answers"], rows)
    stage.tell(results)


if __name__ == "__main__":
    sys.exit(main())
