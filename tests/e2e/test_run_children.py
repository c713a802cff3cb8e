"""Commands with many children, children that stay, and deaths in the middle."""
import os
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from conftest import json_in


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(path):
    for _ in range(3000):
        if path.exists() and path.read_text():
            return path.read_text()
        time.sleep(0.01)
    raise AssertionError(f"{path} never came")


def test_ten_thousand_short_children(run, tmp_path):
    file = tmp_path / "many.joulery"
    script = "for i in {1..10000}; do (exit 0); done; exit 12"
    done = run("run", "--json", "-o", file, "--", "bash", "-c", script, timeout=200)
    assert done.returncode == 12
    assert run.report(file)["exit_code"] == 12
    assert file.stat().st_size < 20_000_000


def test_ten_thousand_programs_in_parallel_pairs(run):
    script = "for i in {1..1000}; do /bin/true & /bin/true; done; wait; exit 0"
    assert run.run("--", "bash", "-c", script).returncode == 0


def test_many_short_children_are_told_by_name_where_the_scheduler_may_be_asked(run):
    if json_in(run("doctor", "--json").stdout)["cpu_time"]["device"] != "ebpf":
        pytest.skip("needs eBPF")
    script = "end=$((SECONDS + 6)); while [ $SECONDS -lt $end ]; do sha256sum /usr/bin/python3 > /dev/null; done"
    done = run("run", "--json", "--no-save", "--", "bash", "-c", script, timeout=100)
    lines = {p["name"]: p["cpu_s"] for p in json_in(done.stderr)["processes"] if p["pid"] in (0, None)}
    named = [name for name in lines if name.startswith("sha256sum (") and name.endswith(" short-lived)")]
    assert len(named) == 1, lines
    count = int(named[0].split("(")[1].split()[0])
    # All but the first seconds. The rest stays a line without names, never less than nothing.
    assert count > 5 and lines[named[0]] > 0.1 * (lines[named[0]] + lines.get("short-lived children", 0)), lines


def test_few_short_children_ask_nobody(run, tmp_path):
    file = tmp_path / "few.joulery"
    run("run", "--quiet", "-o", file, "--", "sh", "-c", "true; sleep 2.5", check=0)
    with sqlite3.connect(file) as recording:
        assert recording.execute("SELECT count(*) FROM metadata WHERE name = 'short_lived'").fetchone() == (0,)


DAEMON = r"""
import os, sys
if os.fork(): os._exit(17)
os.setsid()
if os.fork(): os._exit(0)
if sys.argv[2] == "closed":
    null = os.open("/dev/null", os.O_RDWR)
    for n in (0, 1, 2): os.dup2(null, n)
with open(sys.argv[1] + ".part", "w") as file: file.write(str(os.getpid()))
os.rename(sys.argv[1] + ".part", sys.argv[1])
import time; time.sleep(60)
"""


@pytest.mark.parametrize("streams", ["held", "closed"])
def test_daemon_does_not_hold_the_run(run, tmp_path, streams):
    """joulery ends when CMD ends, though a daemon that CMD left holds the streams and works on."""
    pid = tmp_path / "pid"
    with open(tmp_path / "err", "w", encoding="utf-8") as err:
        job = run.start("run", "--no-save", "--json", "--", sys.executable, "-c", DAEMON, str(pid), streams, stdout=err, stderr=err)
        daemon = int(wait_for(pid))
        try:
            assert job.wait(timeout=50) == 17
            assert alive(daemon), "joulery waited for the daemon, or killed it"
        finally:
            os.kill(daemon, signal.SIGKILL)
    assert json_in((tmp_path / "err").read_text())["exit_code"] == 17


def test_no_process_of_ours_stays(run, tmp_path):
    ready = tmp_path / "pid"
    job = run.start("run", "--no-save", "--quiet", "--", "sh", "-c", f"echo $$ > {ready}; exec sleep 0.3", start_new_session=True)
    wait_for(ready)
    assert job.wait(timeout=60) == 0
    sessions = subprocess.run(["ps", "-e", "-o", "sid=,pid=,stat=,args="], capture_output=True, text=True, check=True).stdout
    assert [line for line in sessions.splitlines() if line.split()[0] == str(job.pid) and line.split()[2][0] != "Z"] == []


def test_killed_joulery_leaves_a_readable_recording(run, two_zones, tmp_path):
    file, pid = tmp_path / "killed.joulery", tmp_path / "pid"
    job = run.start("run", "--sysroot", two_zones, "-o", file, "--", "sh", "-c", f"echo $$ > {pid}; exec sleep 60",
                    stderr=subprocess.DEVNULL)
    child = int(wait_for(pid))
    try:
        time.sleep(3.5)
        job.kill()
        job.wait(timeout=60)
    finally:
        if alive(child):
            os.kill(child, signal.SIGKILL)
    report = run.report(file)
    assert report["exit_code"] is None
    assert report["duration_s"] > 1.0
    package = [c for c in report["components"] if c["path"].endswith("cpu/package-0")][0]
    assert package["joules"] == pytest.approx(20.0 * report["duration_s"], abs=20.0 * 0.3)


def test_killed_joulery_loses_no_other_process(run, tmp_path):
    """The command outlives a joulery that was killed, as it would outlive a killed shell."""
    pid, end = tmp_path / "pid", tmp_path / "end"
    job = run.start("run", "--no-save", "--quiet", "--", "sh", "-c", f"echo $$ > {pid}; sleep 0.5; echo done > {end}")
    wait_for(pid)
    job.kill()
    job.wait(timeout=60)
    assert wait_for(end) == "done\n"


def test_command_killed_in_the_middle_is_reported(run, two_zones, tmp_path):
    file = tmp_path / "cmd.joulery"
    done = run("run", "--sysroot", two_zones, "-o", file, "--json", "--", "sh", "-c", "sleep 0.5; kill -9 $$")
    assert done.returncode == 137
    report = run.report(file)
    assert report["exit_code"] == 137
    assert report["energy"]["joules"] > 0


def test_finished_recording_is_one_file(run, tmp_path):
    file = tmp_path / "one.joulery"
    run("run", "-o", file, "--", "true", check=0)
    assert sorted(p.name for p in tmp_path.iterdir() if p.name.startswith("one.joulery")) == ["one.joulery"]
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as base:
        assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
