"""What the benches share: where the programs are, a machine of plain files, and how a result is told.

A result is a row: what was measured, its value, the target, and whether it is met; rows without a target are there
to compare with. Each bench prints its table, and with --json FILE also writes its rows for bench/run.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("JOULERY_BUILD", ROOT / "build" / "release"))
JOULERY = os.environ.get("JOULERY", str(BUILD / "joulery"))
WITH_RAPL = str(ROOT / "tests" / "standins" / "with_rapl")
LOAD = str(BUILD / "standins" / "staircase_load")
FLOOR = str(BUILD / "bench" / "floor")
PEERS = ROOT / ".venv-bench" / "bin" / "python"
sys.path.insert(0, str(ROOT / "tests" / "standins"))
os.environ.setdefault("RAPL_FUSE", str(BUILD / "standins" / "rapl_fuse"))

FOUR_ZONES = ["intel-rapl:0=package-0,20", "intel-rapl:0:0=core,12", "intel-rapl:0:1=uncore,2", "intel-rapl:0:2=dram,3"]


def need(*paths):
    for path in paths:
        if not os.path.exists(path):
            sys.exit(f"{path} is missing: make bench builds and installs what it needs")


def home():
    """A temporary home in memory for what the programs keep, and its environment."""
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = tempfile.TemporaryDirectory(prefix="joulery-bench.", dir=base)
    names = ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
    os.environ.update({name: folder.name for name in names})
    return folder


class Tree:
    """A machine of plain files in memory, its four zones and nothing else, which advance while the bench runs (in a process of its own)."""

    def __init__(self, folder):
        self.root = os.path.join(folder, "machine")
        words = [sys.executable, str(ROOT / "tests" / "standins" / "scripted_tree.py"), self.root, "--alone", *FOUR_ZONES]
        self.player = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        self.player.stdout.readline()
        zones = os.path.join(self.root, "sys/class/powercap")
        self.counters = [os.path.join(zones, z.partition("=")[0], "energy_uj") for z in FOUR_ZONES]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.player.terminate()
        self.player.wait()


def undisturbed():
    """Real-time priority for this process and all that it starts from here on, where that is allowed: what else runs on
    the machine then disturbs no measurement, and all that is compared has the same. Returns how to tell it."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    except PermissionError:
        return "at normal priority"
    return "all at real-time priority"


def table(title, head, rows):
    """Prints a Markdown table; numbers to the right."""
    cells = [head, *[[str(c) for c in row] for row in rows]]
    widths = [max(len(line[n]) for line in cells) for n in range(len(head))]
    print(f"\n{title}\n")
    for place, line in enumerate(cells):
        print("| " + " | ".join(c.ljust(w) if n == 0 else c.rjust(w) for n, (c, w) in enumerate(zip(line, widths))) + " |")
        if place == 0:
            print("|" + "|".join("-" * (w + 2) if n == 0 else "-" * (w + 1) + ":" for n, w in enumerate(widths)) + "|")
    sys.stdout.flush()


def result(what, value, target=None, met=None):
    return {"what": what, "value": value, "target": target, "met": met}


def tell(rows):
    """Prints the rows with a target, and writes all to the file after --json."""
    verdicts = [[r["what"], r["value"], r["target"], "met" if r["met"] else "MISSED"] for r in rows if r["target"]]
    if verdicts:
        table("Verdict", ["what", "value", "target", "verdict"], verdicts)
    if "--json" in sys.argv:
        pathlib.Path(sys.argv[sys.argv.index("--json") + 1]).write_text(json.dumps(rows), encoding="utf-8")


def json_in(text):
    """The JSON object that closes `text`."""
    begin = 0 if text.startswith("{") else text.index("\n{") + 1
    return json.loads(text[begin:])
