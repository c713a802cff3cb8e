"""`joulery run -- CMD` is CMD to the outside: codes, signals, streams, descriptors, environment."""
import hashlib
import os
import signal
import subprocess
import sys
import time

import pytest

PYTHON = sys.executable


def bare(*words, **options):
    return subprocess.run(words, capture_output=True, text=True, **options)


def test_every_exit_code(run):
    wrong = [code for code in range(256) if run.run("--", "sh", "-c", f"exit {code}").returncode != code]
    assert wrong == []


@pytest.mark.parametrize("name", ["TERM", "INT", "KILL", "HUP", "QUIT", "SEGV", "ABRT", "PIPE", "USR1", "ALRM"])
def test_child_killed_by_signal_gives_128_plus_n(run, name):
    number = getattr(signal, "SIG" + name)
    assert run.run("--", "sh", "-c", f"ulimit -c 0; kill -{name} $$").returncode == 128 + number


def test_real_segmentation_fault(run):
    crash = "import ctypes, resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); ctypes.string_at(0)"
    assert run.run("--", PYTHON, "-c", crash).returncode == 139


def wait_for(path):
    for _ in range(3000):
        if path.exists() and path.read_text():
            return path.read_text()
        time.sleep(0.01)
    raise AssertionError(f"{path} never came")


@pytest.mark.parametrize("name", ["TERM", "INT", "HUP", "QUIT", "USR1", "USR2"])
def test_signal_to_joulery_reaches_the_command(run, tmp_path, name):
    ready = tmp_path / "ready"
    job = run.start("run", "--no-save", "--quiet", "--", "bash", "-c",
                    f"trap 'exit 41' {name}; echo $$ > {ready}; while :; do sleep 0.02; done")
    wait_for(ready)
    job.send_signal(getattr(signal, "SIG" + name))
    assert job.wait(timeout=60) == 41


def test_signal_that_kills_the_command_gives_its_code(run, tmp_path):
    ready = tmp_path / "ready"
    job = run.start("run", "--no-save", "--quiet", "--", "bash", "-c", f"echo $$ > {ready}; exec sleep 100")
    wait_for(ready)
    job.send_signal(signal.SIGTERM)
    assert job.wait(timeout=60) == 143


def test_command_killed_from_outside(run, tmp_path):
    ready = tmp_path / "ready"
    job = run.start("run", "--no-save", "--", "bash", "-c", f"echo $$ > {ready}; exec sleep 100", stderr=subprocess.PIPE, text=True)
    os.kill(int(wait_for(ready)), signal.SIGKILL)
    _, summary = job.communicate(timeout=60)
    assert job.returncode == 137
    assert summary.strip()


def state(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[0]


def wait_for_state(pid, wanted):
    for _ in range(1000):
        if state(pid) in wanted:
            return True
        time.sleep(0.01)
    return False


def test_stop_and_continue_reach_the_command(run, tmp_path):
    ready = tmp_path / "ready"
    job = run.start("run", "--no-save", "--quiet", "--", "bash", "-c", f"echo $$ > {ready}; exec sleep 1", process_group=0)
    child = int(wait_for(ready))
    job.send_signal(signal.SIGTSTP)
    try:
        assert wait_for_state(child, "T")
        job.send_signal(signal.SIGCONT)
        assert wait_for_state(child, "SRZX")
    finally:
        job.send_signal(signal.SIGCONT)
    assert job.wait(timeout=60) == 0


def test_missing_command(run):
    done = run.run("--", "no-such-command-anywhere")
    assert done.returncode == 127
    assert "no-such-command-anywhere" in done.stderr


def test_missing_path(run, tmp_path):
    assert run.run("--", tmp_path / "nothing").returncode == 127


def test_directory_as_command(run, tmp_path):
    done = run.run("--", tmp_path)
    assert done.returncode == 126
    assert str(tmp_path) in done.stderr


def test_not_executable(run, tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\nexit 0\n")
    script.chmod(0o644)
    assert run.run("--", script).returncode == 126


def test_missing_interpreter_is_as_in_a_shell(run, tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    assert run.run("--", script).returncode == bare("dash", "-c", str(script)).returncode


def test_binary_stdin_and_stdout_pass_untouched(run):
    data = os.urandom(20_000_000)
    done = run("run", "--no-save", "--", "cat", input=data, binary=True)
    assert done.returncode == 0
    assert hashlib.sha256(done.stdout).digest() == hashlib.sha256(data).digest()
    assert done.stderr.strip()


def test_stdin_that_the_command_leaves_is_left(run):
    reader, writer = os.pipe()
    os.write(writer, b"first\nsecond\n")
    os.close(writer)
    assert run.run("--", "sh", "-c", "exec true", stdin=reader).returncode == 0
    assert os.read(reader, 100) == b"first\nsecond\n"
    os.close(reader)


def test_summary_goes_to_stderr_alone(run):
    done = run("run", "--no-save", "--", "printf", "out")
    assert done.stdout == "out"
    assert "J" in done.stderr


def test_stderr_of_the_command_comes_before_the_summary(run):
    done = run("run", "--no-save", "--", "sh", "-c", "echo complaint >&2")
    assert done.stderr.startswith("complaint\n")


def test_closed_streams_are_not_taken_by_the_recording(run, tmp_path):
    """With descriptors 0 and 1 closed, no file of ours may land there and take what CMD writes."""
    file = tmp_path / "closed.joulery"
    script = f"exec '{run.joulery}' run --quiet -o '{file}' -- sh -c 'echo stray; exit 9' <&- >&- 2>/dev/null"
    done = subprocess.run(["sh", "-c", script], env=run.environment, timeout=60)
    assert done.returncode == 9
    assert run.report(file)["exit_code"] == 9


PROBE = r"""
import json, os, resource, signal
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps({
    "descriptors": sorted(int(n) for n in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{n}")),
    "blocked": status["SigBlk"].strip(), "ignored": status["SigIgn"].strip(),
    "environment": {k: v for k, v in os.environ.items() if not k.startswith("JOULERY")},
    "cwd": os.getcwd(), "umask": os.umask(0), "nice": os.nice(0), "affinity": sorted(os.sched_getaffinity(0)),
    "policy": os.sched_getscheduler(0), "limits": [resource.getrlimit(n) for n in range(16)],
    "slack": open("/proc/self/timerslack_ns").read(), "oom": open("/proc/self/oom_score_adj").read(),
    "rights": [status[k].strip() for k in ("Uid", "Gid", "CapEff", "NoNewPrivs", "Seccomp")]}))
"""


def test_command_inherits_what_it_would_inherit(run):
    environment = {**run.environment, "PWD": os.getcwd()}
    alone = bare(PYTHON, "-c", PROBE, env=environment, stdin=subprocess.DEVNULL)
    under = run.run("--", PYTHON, "-c", PROBE, env=environment)
    assert under.stdout == alone.stdout


@pytest.mark.parametrize("disposition", ["signal.SIG_IGN", "signal.SIG_DFL"])
def test_ignored_signals_stay_ignored(run, disposition):
    """nohup sets SIGHUP to ignored, and so must it reach CMD."""
    before = f"import os, signal, sys; signal.signal(signal.SIGHUP, {disposition}); os.execv(sys.argv[1], sys.argv[1:])"
    probe = [PYTHON, "-c", PROBE]
    alone = bare(PYTHON, "-c", before, *probe, env=run.environment, stdin=subprocess.DEVNULL)
    under = bare(PYTHON, "-c", before, run.joulery, "run", "--no-save", "--quiet", "--", *probe, env=run.environment,
                 stdin=subprocess.DEVNULL)
    assert under.stdout == alone.stdout


def test_other_descriptors_pass(run, tmp_path):
    with open(tmp_path / "extra", "w", encoding="ascii") as extra:
        number = extra.fileno()
        assert run.run("--", "bash", "-c", f"echo hi >&{number}", pass_fds=[number]).returncode == 0
    assert (tmp_path / "extra").read_text() == "hi\n"


def test_words_pass_as_they_are(run):
    words = ["", "--json", "-o", "a b", "*", "$HOME", "--", "é", "new\nline", "-"]
    done = run.run("--", PYTHON, "-c", "import sys; print(sys.argv[1:])", *words)
    assert done.stdout == str(words) + "\n"
