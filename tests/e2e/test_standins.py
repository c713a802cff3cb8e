"""The stand-ins themselves: the fake RAPL obeys its own physics, the scripted machine does as its script says."""
import json
import os
import subprocess
import sys
import time

import pytest

from scripted_tree import START_UJ, ScriptedTree

ZONES = "/sys/devices/virtual/powercap/intel-rapl"


def under(with_rapl, options, script):
    return subprocess.run([*with_rapl, *options, "--", "bash", "-c", script], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("code", [0, 1, 7, 125, 255])
def test_gives_the_commands_code(with_rapl, code):
    assert under(with_rapl, [], f"exit {code}").returncode == code


def test_leaves_the_machine_as_it_was(with_rapl):
    before = os.listdir("/sys"), os.path.exists(ZONES), open("/proc/self/mountinfo", encoding="utf-8").read()
    under(with_rapl, [], "true")
    assert (os.listdir("/sys"), os.path.exists(ZONES), open("/proc/self/mountinfo", encoding="utf-8").read()) == before


def test_counters_and_truth_agree(with_rapl):
    """Read right after one another; between two reads no zone can burn more than a machine of these watts does in a second."""
    done = under(with_rapl, [], f"cat {ZONES}/intel-rapl:0/energy_uj $RAPL_TRUTH {ZONES}/intel-rapl:0/energy_uj")
    lines = done.stdout.splitlines()
    before, after = int(lines[0]), int(lines[-1])
    truth = dict((line.split()[1], int(line.split()[2])) for line in lines[2:-1])
    assert before <= truth["package-0"] <= after + 1
    assert truth["core"] + truth["uncore"] <= truth["package-0"] <= truth["psys"]


def test_idle_watts_are_the_least(with_rapl):
    """Without a busy CPU share, 10 W for the time on the model's own clock."""
    done = under(with_rapl, ["--zone", "package-0=10,0"], "cat $RAPL_TRUTH; sleep 0.3; cat $RAPL_TRUTH")
    words = done.stdout.split()
    seconds = (int(words[6]) - int(words[1])) * 1e-9
    assert (int(words[9]) - int(words[4])) * 1e-6 == pytest.approx(10 * seconds, abs=1e-3)


def test_a_load_shows(with_rapl, staircase_load, tmp_path):
    """One core burnt for a second is 10 J idle and at least most of 20 J more; others may burn beside it."""
    out = tmp_path / "truth.json"
    assert subprocess.run([*with_rapl, "--", staircase_load, "1", "1", out], timeout=60).returncode == 0
    truth = json.loads(out.read_text())
    seconds = (truth["end_ns"] - truth["begin_ns"]) * 1e-9
    joules = truth["joules"]["intel-rapl:0 package-0"]
    assert 10 * seconds + 20 * 0.5 <= joules <= 10 * seconds + 20 * (os.cpu_count() * seconds + 0.1)


def test_counter_wraps_at_its_range(with_rapl):
    """From 5 J below a range of 100 J, at 100 W, the counter has begun anew after 0.3 s, and truth has not."""
    done = under(with_rapl, ["--zone", "package-0=100,0", "--range", "100000000", "--start", "95000000"],
                 f"sleep 0.3; cat $RAPL_TRUTH {ZONES}/intel-rapl:0/energy_uj")
    truth, counter = int(done.stdout.split()[4]), int(done.stdout.split()[5])
    assert counter - (95_000_000 + truth - 100_000_001) == pytest.approx(0, abs=100e6 * 0.5)
    assert counter < 95_000_000 and truth > 25_000_000


def test_locked_counters_are_locked(with_rapl):
    done = under(with_rapl, ["--mode", "0400"], f"setpriv --reuid=65534 --clear-groups --inh-caps=-all cat {ZONES}/intel-rapl:0/energy_uj")
    assert done.returncode != 0 and "Permission denied" in done.stderr


def test_two_packages_are_numbered_as_the_kernel_does(with_rapl):
    options = [w for z in ("package-0=5,5", "core=1,1", "package-1=6,6", "dram=1,1", "psys=20,20") for w in ("--zone", z)]
    done = under(with_rapl, options, "cd /sys/class/powercap; for z in intel-rapl:*; do echo $z=$(cat $z/name); done")
    assert done.stdout.split() == ["intel-rapl:0=package-0", "intel-rapl:0:0=core", "intel-rapl:1=package-1", "intel-rapl:1:0=dram",
                                   "intel-rapl:2=psys"]


@pytest.mark.parametrize("options", [["--zone", "core=1,1"], ["--zone", "x"], ["--mode", "9"], ["--range", "-1"]], ids=" ".join)
def test_bad_options_are_refused(with_rapl, options):
    assert under(with_rapl, options, "true").returncode == 125


def read(root, zone="intel-rapl:0"):
    with open(os.path.join(root, "sys/class/powercap", zone, "energy_uj"), encoding="ascii") as file:
        return file.read()


def test_scripted_faults(tmp_path):
    """Played by hand at given seconds: 20 W, so 20 J a second above the start."""
    root = str(tmp_path)
    tree = ScriptedTree(root, [("intel-rapl:0", "package-0", 20.0)],
                        [(1, "intel-rapl:0", "stuck"), (2, "intel-rapl:0", "heal"), (3, "intel-rapl:0", "rubbish"), (4, "intel-rapl:0", "heal"),
                         (5, "intel-rapl:0", "jump=100"), (6, "intel-rapl:0", "fall=50"), (7, "intel-rapl:0", "remove"), (8, "intel-rapl:0", "heal"),
                         (9, "intel-rapl:0", "empty"), (10, "intel-rapl:0", "heal")])
    seen = {}
    for half in range(1, 22):
        tree.advance(half / 2)
        try:
            seen[half / 2] = read(root)
        except FileNotFoundError:
            seen[half / 2] = None

    def joules(at):
        return (int(seen[at]) - START_UJ) * 1e-6

    assert joules(0.5) == 10 and joules(1.0) == joules(1.5) == 10 and joules(2.0) == 40
    assert not seen[3.5].strip().isdigit() and joules(4.5) == 90
    assert joules(5.5) == 110 + 100 and joules(6.5) == 130 + 50
    assert seen[7.5] is None and joules(8.5) == 170 + 50
    assert seen[9.5] == "" and joules(10.5) == 210 + 50


def test_scripted_machine_from_the_command_line(tmp_path):
    words = [sys.executable, os.path.join(os.path.dirname(sys.modules["scripted_tree"].__file__), "scripted_tree.py"), str(tmp_path / "m"),
             "intel-rapl:0=package-0,50"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as player:
        player.stdout.readline()
        first = int(read(tmp_path / "m"))
        time.sleep(0.3)
        second = int(read(tmp_path / "m"))
        player.kill()
    assert second - first > 50 * 0.1 * 1e6
