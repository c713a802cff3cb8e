"""Power limits that joulery sets itself: listed, held while a command runs, and put back whatever becomes of those who held them. Over a
tree of plain files that has limits, and over a fake NVML."""
import json
import os
import pathlib
import signal
import subprocess

import jsonschema
import pytest

from conftest import ROOT, built, json_in, one_line
from limit_tree import CARD, LIMIT_S, LONG, SHORT, eventually, make_tree, value

REPORT = json.loads((ROOT / "data/schemas/report.json").read_text())
POWER = json.loads((ROOT / "data/schemas/power.json").read_text())


@pytest.fixture
def tree(tmp_path):
    return make_tree(tmp_path / "machine")


def journals(run):
    return list((run.home / "state/joulery/power").glob("*.undo"))


# ---- the list ----

def test_the_list_tells_every_limit(run, tree):
    told = json.loads(run("power", "--json", "--sysroot", tree, check=0).stdout)
    jsonschema.validate(told, POWER)
    limits = {(one["component"], one["name"]): one for one in told["limits"]}
    assert set(limits) == {("node/cpu/package-0", "long_term"), ("node/cpu/package-0", "short_term"), ("node/gpu/amdgpu-0", "power1_cap")}
    long_term = limits["node/cpu/package-0", "long_term"]
    assert (long_term["watts"], long_term["most_watts"], long_term["least_watts"], long_term["window_s"]) == (125, 125, None, 27.983872)
    assert long_term["usual"] and long_term["settable"] and long_term["holder"] == ""
    card = limits["node/gpu/amdgpu-0", "power1_cap"]
    assert (card["watts"], card["least_watts"], card["most_watts"], card["default_watts"]) == (250, 100, 300, 280)
    text = run("power", "--sysroot", tree, check=0).stdout
    assert "node/cpu/package-0 (long_term)" in text and "can be set" in text


def test_a_machine_without_limits_says_why(run, tmp_path):
    (tmp_path / "bare/sys").mkdir(parents=True)
    told = json.loads(run("power", "--json", "--sysroot", tmp_path / "bare", check=0).stdout)
    jsonschema.validate(told, POWER)
    assert told["limits"] == [] and told["reason"] and told["remedy"]
    assert "none" in run("power", "--sysroot", tmp_path / "bare", check=0).stdout


# ---- joulery run, directly ----




def test_a_limit_holds_while_the_command_runs_and_goes_back(run, tree):
    (tree / LONG).write_text("110000000\n")  # the owner's own setting: not the hardware's greatest
    done = run("run", "--sysroot", tree, "--power-limit", "node/cpu/package-0=90W,node/gpu/amdgpu-0=150W", "-o", run.home / "r.joulery", "--",
               "sh", "-c", f"cat {tree / LONG} {tree / CARD}; exit 7", check=7)
    assert done.stdout.split() == ["90000000", "150000000"]
    assert (value(tree, LONG), value(tree, CARD)) == (110000000, 250000000)
    assert journals(run) == []
    report = run.report(run.home / "r.joulery")
    jsonschema.validate(report, REPORT)
    package, card = report["power_limits"]
    assert (package["component"], package["name"], package["asked_watts"], package["watts"], package["before_watts"]) == (
        "node/cpu/package-0", "long_term", 90, 90, 110)
    assert package["by"] == "joulery" and package["changed"] is None
    row = next(one for one in report["components"] if one["path"] == "node/cpu/package-0")
    assert package["joules"] == row["joules"]
    assert card["joules"] is None and "node/gpu/amdgpu-0" in card["reason"]
    for form in ((), ("--markdown",), ("--html",)):
        text = run("report", run.home / "r.joulery", *form, check=0).stdout
        assert "90 W" in text and "instead of 110 W" in text, form
    assert "power_limits" not in json_in(run("run", "--sysroot", tree, "--no-save", "--json", "--", "true").stderr)


def test_a_limit_that_is_named_is_the_one_that_is_set(run, tree):
    done = run.run("--sysroot", tree, "--power-limit", "node/cpu/package-0:short_term=200W", "--", "cat", tree / SHORT, tree / LONG, check=0)
    assert done.stdout.split() == ["200000000", "125000000"]
    assert value(tree, SHORT) == 250000000


@pytest.mark.parametrize("words, names", [
    ("node/cpu/package-0=126W", ("1 W to 125 W",)),
    ("node/gpu/amdgpu-0=99W", ("100 W to 300 W",)),
    ("node/cpu/package-7=90W", ("no such power limit",)),
    ("node/cpu/package-0:peak=90W", ("no such power limit",)),
    ("node/cpu/package-0=90W,node/gpu/amdgpu-0=301W", ("100 W to 300 W",)),
])
def test_what_cannot_be_set_stops_before_the_command_starts(run, tree, words, names):
    done = run.run("--sysroot", tree, "--power-limit", words, "--", "touch", run.home / "ran", check=125)
    one_line(done.stderr, *names)
    assert not (run.home / "ran").exists()
    assert (value(tree, LONG), value(tree, CARD)) == (125000000, 250000000)
    assert journals(run) == []


@pytest.mark.parametrize("words", ["90W", "node/gpu/0", "node/gpu/0=", "node/gpu/0=12J", "node/gpu/0=0W", "node/gpu/0=-5W", "a=1W,a=2W", "=1W", "a:=1W"])
def test_a_request_that_makes_no_sense_is_refused(run, tree, words):
    done = run.run("--sysroot", tree, "--power-limit", words, "--", "touch", run.home / "ran")
    assert done.returncode == 2 and not (run.home / "ran").exists()
    one_line(done.stderr, "--power-limit")


def started(run, tree):
    child = run.start("run", "--no-save", "--quiet", "--sysroot", str(tree), "--power-limit", "node/cpu/package-0=90W", "--", "sh", "-c",
                      "echo begun; exec sleep 600", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert child.stdout.readline() == "begun\n", child.stderr.read()
    assert value(tree, LONG) == 90000000
    return child


def guardian_of(child):
    """The pid of the process that would put limits back if `child` were killed."""
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if b"--guard" in words and int(parent) == child.pid:
            return int(entry.name)
    raise AssertionError("nobody stands guard")


def end(child):
    """Ends what a killed joulery left running."""
    os.killpg(child.pid, signal.SIGKILL)
    child.communicate(timeout=LIMIT_S)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_limit_goes_back_after_a_signal(run, tree, number):
    child = started(run, tree)
    os.killpg(child.pid, number)  # as a terminal does: to the command too
    child.communicate(timeout=LIMIT_S)
    assert child.returncode == 128 + number
    assert value(tree, LONG) == 125000000 and journals(run) == []


def test_a_limit_goes_back_after_kill_9(run, tree):
    child = started(run, tree)
    child.kill()
    eventually(lambda: value(tree, LONG) == 125000000)
    eventually(lambda: journals(run) == [])
    end(child)


def test_a_limit_goes_back_when_its_guardian_is_killed(run, tree):
    child = started(run, tree)
    os.kill(guardian_of(child), signal.SIGKILL)
    os.killpg(child.pid, signal.SIGTERM)
    child.communicate(timeout=LIMIT_S)
    assert value(tree, LONG) == 125000000 and journals(run) == []


@pytest.mark.parametrize("who_comes_next", ["power", "restore", "run"])
def test_what_nobody_could_put_back_is_put_back_by_who_comes_next(run, tree, who_comes_next):
    child = started(run, tree)
    guardian = guardian_of(child)
    os.kill(child.pid, signal.SIGSTOP)
    os.kill(guardian, signal.SIGKILL)
    os.kill(child.pid, signal.SIGKILL)
    end(child)
    assert value(tree, LONG) == 90000000 and len(journals(run)) == 1
    words = {"power": ["power"], "restore": ["power", "--restore"], "run": ["run", "--no-save", "--quiet"]}[who_comes_next]
    command = ["--", "cat", str(tree / LONG)] if who_comes_next == "run" else []
    done = run(*words, "--sysroot", tree, *command, check=0)
    assert "back at 125 W" in done.stderr
    if command:
        assert done.stdout == "125000000\n"
    assert value(tree, LONG) == 125000000 and journals(run) == []
    assert "nothing was left" in run("power", "--restore", "--sysroot", tree, check=0).stdout


def test_what_somebody_else_changed_is_left_alone_and_told(run, tree):
    done = run("run", "--sysroot", tree, "--power-limit", "node/cpu/package-0=90W", "-o", run.home / "r.joulery", "--", "sh", "-c",
               f"echo 70000000 > {tree / LONG}", check=0)
    assert value(tree, LONG) == 70000000
    assert "somebody else set it to 70 W" in done.stderr
    report = run.report(run.home / "r.joulery")
    jsonschema.validate(report, REPORT)
    assert "70 W" in report["power_limits"][0]["changed"]
    assert any(flag.startswith("power-limit: node/cpu/package-0") for flag in report["flags"])


def test_two_runs_do_not_hold_one_limit(run, tree):
    first = started(run, tree)
    told = json.loads(run("power", "--json", "--sysroot", tree, check=0).stdout)
    holder = next(one["holder"] for one in told["limits"] if one["name"] == "long_term")
    assert str(first.pid) in holder
    second = run.run("--sysroot", tree, "--power-limit", "node/cpu/package-0=80W", "--", "true", check=125)
    one_line(second.stderr, "holds", str(first.pid))
    assert value(tree, LONG) == 90000000
    os.killpg(first.pid, signal.SIGTERM)
    first.communicate(timeout=LIMIT_S)
    assert value(tree, LONG) == 125000000


def test_a_limit_holds_through_all_repeats(run, tree):
    done = run.run("--sysroot", tree, "-r", "3", "--warmup", "1", "--power-limit", "node/cpu/package-0=90W", "--", "cat", tree / LONG, check=0)
    assert done.stdout.split() == ["90000000"] * 4
    assert value(tree, LONG) == 125000000


# ---- NVIDIA ----

@pytest.fixture
def gpu(run):
    library = built("standins/libnvidia-ml.so.1")
    assert library, "the stand-in for NVIDIA's library is not built"
    script = run.home / "gpus"
    script.write_text("gpu 0 watts 0 300\ngpu 0 limit 200 700 600\n")
    run.environment.update(LD_LIBRARY_PATH=str(library.parent), FAKE_NVML_SCRIPT=str(script))
    return script


def test_a_gpus_limit_is_held_and_goes_back(run, gpu):
    if os.geteuid() != 0:
        pytest.skip("skipped: needs root, as NVIDIA's driver does")
    kept = gpu.with_name("gpus.limit.0")
    kept.write_text("550000\n")
    done = run("run", "--power-limit", "node/gpu/0=250W", "-o", run.home / "r.joulery", "--", "sh", "-c", f"cat {kept}; sleep 0.5", check=0)
    assert done.stdout == "250000\n" and kept.read_text() == "550000\n"
    limit, = run.report(run.home / "r.joulery")["power_limits"]
    assert (limit["watts"], limit["before_watts"], limit["enforced_watts"]) == (250, 550, 250)
    assert limit["joules"] > 0
    child = run.start("run", "--no-save", "--quiet", "--power-limit", "node/gpu/0=300W", "--", "sh", "-c", "echo begun; exec sleep 600",
                      stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert child.stdout.readline() == "begun\n" and kept.read_text() == "300000\n"
    child.kill()
    eventually(lambda: kept.read_text() == "550000\n")
    end(child)


def test_a_gpu_that_is_partitioned_or_refuses_says_so(run, gpu):
    gpu.write_text("gpu 0 limit 200 700\ngpu 0 mig 3 0 MIG-11111111-aaaa 20096 512\n")
    done = run.run("--power-limit", "node/gpu/0=250W", "--", "true", check=125)
    one_line(done.stderr, "MIG")
    if os.geteuid() != 0:
        return
    gpu.write_text("gpu 0 limit 200 700\ngpu 0 return nvmlDeviceSetPowerManagementLimit 3\n")
    done = run.run("--power-limit", "node/gpu/0=250W", "--", "true", check=125)
    one_line(done.stderr, "does not let its power limit be set")
