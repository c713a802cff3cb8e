# scripts/test: serial timeout=300
"""`joulery flame`: programs whose functions burn known shares, sampled for real. Skips where the kernel lets nobody sample."""
import json
import os
import re
import shutil
import subprocess

import pytest

PROGRAM = """
#include <stdlib.h>
__attribute__((noinline)) double hot(long n){volatile double x=1;for(long i=0;i<n;i++)x=x*1.0000001;return x;}
__attribute__((noinline)) double cold(long n){volatile double x=1;for(long i=0;i<n;i++)x=x*1.0000001;return x;}
int main(int count,char**words){long n=atol(words[1]);double s=0;for(int i=0;i<40;i++){s+=hot(3*n);s+=cold(n);}return s>1e300?9:7;}
"""

PYTHON = """
def hot_loop(n):
    x = 0
    for i in range(n):
        x += i * i % 7
    return x


def cold_loop(n):
    x = 0
    for i in range(n):
        x += i * i % 7
    return x


def main():
    for _ in range(60):
        hot_loop(150000)
        cold_loop(50000)


main()
"""


@pytest.fixture
def flame(joulery, tmp_path):
    """Runs a command under `joulery flame`; gives its exit code, its stderr and the JSON."""
    def run(*command, options=()):
        out = tmp_path / "flame.json"
        done = subprocess.run([joulery, "flame", "--json", out, *options, "--", *command], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "HOME": str(tmp_path)})
        if "cannot sample stacks" in done.stderr:
            pytest.skip(done.stderr.strip())
        return done, json.loads(out.read_text()) if out.exists() else None
    return run


def micro(joules):
    return round(joules * 1e6)


def frame_sum(frame):
    return micro(frame["self_joules"]) + sum(micro(child["joules"]) for child in frame["children"])


def every(frame):
    yield frame
    for child in frame["children"]:
        yield from every(child)


def share(tree, name):
    found = [f for f in tree["functions"] if f["name"].startswith(name)]
    return sum(f["weight"] for f in found) / tree["root"]["weight"]


@pytest.fixture
def program(tmp_path):
    compiler = shutil.which("gcc") or pytest.skip("no gcc")
    source = tmp_path / "hot.c"
    source.write_text(PROGRAM)
    subprocess.run([compiler, "-O1", "-fno-omit-frame-pointer", source, "-o", tmp_path / "hot"], check=True)
    return tmp_path / "hot"


def test_a_programs_functions_have_their_shares(flame, program, tmp_path):
    done, tree = flame(program, "6000000", options=["--rate", "499", "--folded", tmp_path / "f.txt", "--svg", tmp_path / "f.svg", "--html", tmp_path / "f.html"])
    assert done.returncode == 7, done.stderr      # the command's own
    assert tree["root"]["weight"] > 300
    # Samples are a fair draw: three standard deviations of a share of 0.75 in 300 are 0.075.
    assert abs(share(tree, "hot") - 1) < 0.05     # the process's frame has the same name, and holds all
    assert abs(share(tree, "cold") - 0.25) < 0.08
    assert "main" in {f["name"] for f in tree["functions"]}
    folded = (tmp_path / "f.txt").read_text()
    assert re.search(r";main;hot \d+\n", folded)
    if tree["joules"] is not None:                # joules sum to the microjoule, at every frame
        for frame in every(tree["root"]):
            assert frame_sum(frame) == micro(frame["joules"]), frame["name"]
        assert sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()) == micro(tree["joules"])
        assert "of CPU energy" in done.stderr
    assert (tmp_path / "f.svg").read_text().startswith("<?xml")
    assert "<table" in (tmp_path / "f.html").read_text()


def test_a_command_that_leaves_all_to_children_at_once_is_sampled(flame, program):
    _, tree = flame("sh", "-c", f"{program} 1500000", options=["--rate", "499"])
    assert share(tree, "cold") > 0.15


def test_children_are_sampled_too(flame, program):
    _, tree = flame("sh", "-c", f"{program} 1500000 & {program} 1500000; wait", options=["--rate", "499"])
    assert share(tree, "cold") > 0.15


def python_with_perf():
    for name in ("python3.13", "python3.12", "python3.14"):
        for path in [shutil.which(name), *(str(p) for p in sorted(__import__("pathlib").Path.home().glob(f".pyenv/versions/*/bin/{name}")))]:
            if path and subprocess.run([path, "-c", "import sys; sys.activate_stack_trampoline('perf')"], capture_output=True).returncode == 0:
                return path
    return None


def test_python_functions_have_their_shares(flame, tmp_path):
    python = python_with_perf() or pytest.skip("no Python of 3.12 or later with the perf trampoline")
    script = tmp_path / "hot.py"
    script.write_text(PYTHON)
    done, tree = flame(python, script, options=["--rate", "499"])
    assert done.returncode == 0, done.stderr
    hot, cold = share(tree, "hot_loop"), share(tree, "cold_loop")
    assert hot + cold > 0.7                       # the rest is the interpreter's start
    assert abs(hot / (hot + cold) - 0.75) < 0.1


def test_a_python_without_a_trampoline_is_told(flame, tmp_path):
    python = "/usr/bin/python3.11"
    if not os.path.exists(python):
        pytest.skip("no Python 3.11")
    done, _ = flame(python, "-c", "sum(i * i for i in range(3000000))", options=["--rate", "499"])
    assert "names no functions" in " ".join(done.stderr.split())


def test_signals_and_missing_commands_are_as_without_us(flame, joulery):
    done, _ = flame("sh", "-c", "kill -TERM $$")
    assert done.returncode == 143
    assert subprocess.run([joulery, "flame", "--", "/nonexistent"], capture_output=True).returncode == 127
    assert subprocess.run([joulery, "flame"], capture_output=True).returncode == 2
