"""The options of `joulery run`, `doctor`, `log` and `calibrate`, on a scripted machine."""
import csv
import io
import json
import os
import pathlib
import shutil
import signal
import subprocess

import pytest

from conftest import LIMIT_S, json_in, row
from scripted_tree import ScriptedTree


def test_repeats_and_warm_up_run_the_command_so_often(run, two_zones, tmp_path):
    runs = tmp_path / "runs"
    done = run("run", "-r", "3", "--warmup", "2", "--sysroot", two_zones, "--no-save", "--", "sh", "-c", f"echo x >> {runs}; sleep 0.2")
    assert done.returncode == 0
    assert runs.read_text().count("x") == 5
    assert "±" in done.stderr


def test_repeat_gives_the_code_of_the_command(run, tmp_path):
    done = run("run", "-r", "3", "--no-save", "--", "sh", "-c", "exit 6")
    assert done.returncode == 6


def test_measured_baseline(run, two_zones):
    """The scripted machine burns 23 W with nothing running."""
    done = run("run", "--baseline", "1s", "--sysroot", two_zones, "--no-save", "--json", "--", "sleep", "0.5", check=0)
    baseline = json_in(done.stderr)["baseline"]
    assert baseline["source"].startswith("measured")
    assert baseline["watts"] == pytest.approx(23.0, rel=0.1)


def test_no_save_leaves_nothing(run, two_zones):
    run("run", "--no-save", "--sysroot", two_zones, "--", "true", check=0)
    assert [p for p in (run.home / "data").rglob("*") if p.is_file()] == []


def test_recording_is_kept_in_the_data_folder_and_named(run, two_zones):
    done = run("run", "--sysroot", two_zones, "--", "true", check=0)
    kept = [p for p in (run.home / "data").rglob("*") if p.is_file()]
    assert len(kept) == 1
    assert str(kept[0]) in done.stderr or kept[0].name in done.stderr
    assert run.report(kept[0])["command"] == ["true"]


def test_two_runs_at_once_keep_two_recordings(run, two_zones):
    jobs = [run.start("run", "--quiet", "--sysroot", two_zones, "--", "sleep", "0.3") for _ in range(4)]
    assert [job.wait(timeout=LIMIT_S) for job in jobs] == [0] * 4
    kept = [p for p in (run.home / "data").rglob("*") if p.is_file()]
    assert len(kept) == 4
    assert all(run.report(p)["exit_code"] == 0 for p in kept)


def test_quiet(run, two_zones):
    done = run("run", "--quiet", "--no-save", "--sysroot", two_zones, "--", "sh", "-c", "exit 2")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


def test_csv_summary(run, two_zones):
    done = run("run", "--csv", "--no-save", "--sysroot", two_zones, "--", "sleep", "0.5", check=0)
    rows = list(csv.DictReader(io.StringIO(done.stderr)))
    assert any("package-0" in " ".join(r.values()) for r in rows)


@pytest.mark.parametrize("interval, seconds", [("1ms", 0.001), ("10ms", 0.01), ("1s", 1.0), ("90s", 90.0), ("1h", 3600.0)])
def test_interval(run, two_zones, interval, seconds):
    done = run("run", "--interval", interval, "--no-save", "--json", "--sysroot", two_zones, "--", "sleep", "1.2", check=0)
    report = json_in(done.stderr)
    assert report["sampling"]["interval_s"] == seconds
    assert row(report, "package-0")["joules"] == pytest.approx(20.0 * report["duration_s"], abs=20.0 * 0.15)


def test_shortest_command_has_an_energy(run, two_zones):
    report = json_in(run("run", "--no-save", "--json", "--sysroot", two_zones, "--", "true", check=0).stderr)
    assert row(report, "package-0")["joules"] is not None
    assert 0 <= report["energy"]["joules"] < 23.0 * 5


def test_locale_changes_nothing(run, two_zones):
    done = run("run", "--no-save", "--json", "--interval", "50ms", "--work", "2.5", "--unit", "sample", "--sysroot", two_zones, "--",
               "sleep", "0.5", env={"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"}, check=0)
    report = json_in(done.stderr)
    assert report["work"][0]["count"] == 2.5
    assert report["sampling"]["interval_s"] == 0.05


def test_place_and_own_factor(run, two_zones):
    def grams(*words):
        report = json_in(run("run", "--no-save", "--json", "--sysroot", two_zones, *words, "--", "sleep", "0.5", check=0).stderr)
        return report["carbon"]["grams"] / report["energy"]["joules"] * 3.6e6, report["carbon"]

    per_kwh, carbon = grams("--place", "SWE")
    assert "sweden" in json.dumps(carbon).lower() or "SWE" in json.dumps(carbon)
    assert per_kwh < 100  # Sweden's mix: hydro, nuclear and wind
    per_kwh, _ = grams("--place", "POL")
    assert per_kwh > 300  # Poland's: mostly coal


# ---- doctor ----

def test_doctor_where_something_measures(run, two_zones):
    done = run("doctor", "--sysroot", two_zones, check=0)
    assert "package-0" in done.stdout


def test_doctor_where_only_an_estimate_is_possible(run, tmp_path):
    with ScriptedTree(str(tmp_path / "bare"), []):
        done = run("doctor", "--sysroot", tmp_path / "bare")
    assert done.returncode == 4
    assert "estimate" in done.stdout.lower()


def test_run_where_only_an_estimate_is_possible(run, tmp_path):
    with ScriptedTree(str(tmp_path / "bare"), []):
        done = run("run", "--no-save", "--json", "--sysroot", tmp_path / "bare", "--", "sh", "-c", "sleep 0.5; exit 5")
    assert done.returncode == 5
    report = json_in(done.stderr)
    assert report["energy"]["quality"] == "estimated"
    assert report["energy"]["joules"] > 0
    assert all(c["quality"] in ("estimated", "missing") for c in report["components"])


def test_doctor_names_the_cause_and_the_mend_of_locked_counters(run, with_rapl):
    """energy_uj is 0400 root since CVE-2020-8694; asked as somebody else."""
    if not shutil.which("setpriv"):
        pytest.skip("needs setpriv")
    words = [*with_rapl, "--mode", "0400", "--", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all",
             run.joulery, "doctor"]
    done = subprocess.run(words, env={**run.environment, "HOME": "/", "XDG_CONFIG_HOME": "/nowhere"}, capture_output=True, text=True, timeout=60)
    if "failed to execute" in done.stderr:
        pytest.skip("the program is not readable by others here")
    assert done.returncode == 4, done.stderr
    assert "package-0" in done.stdout
    assert "CVE-2020-8694" in done.stdout or "root" in done.stdout
    assert "chmod" in done.stdout or "udev" in done.stdout or "setcap" in done.stdout


def test_doctor_tells_how_cpu_time_is_known(run, tmp_path):
    """As somebody without rights: by /proc, and why, and the command. As root where eBPF is allowed: by eBPF. The exit code is the meters'."""
    told = json_in(run("doctor", "--json").stdout)["cpu_time"]
    assert told["kind"] == "cpu-time" and told["found"] and told["readable"]
    assert told["device"] == "ebpf" or (told["device"] == "proc" and told["reason"] and told["remedy"])
    text = run("doctor").stdout
    assert f"cpu-time {told['device']}" in text and all(line in text for line in told["remedy"].splitlines())
    with ScriptedTree(str(tmp_path / "bare"), []):
        recorded = json_in(run("doctor", "--json", "--sysroot", tmp_path / "bare").stdout)["cpu_time"]
    assert recorded["device"] == "proc" and "running machine" in recorded["reason"]
    if os.geteuid() != 0 or not shutil.which("setpriv") or told["device"] != "ebpf":
        pytest.skip("needs root, setpriv and eBPF")
    done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", run.joulery, "doctor", "--json"],
                          env={**run.environment, "HOME": "/", "XDG_CONFIG_HOME": "/nowhere"}, capture_output=True, text=True, timeout=60)
    if "failed to execute" in done.stderr:
        pytest.skip("the program is not readable by others here")
    assert done.returncode == run("doctor").returncode
    told = json_in(done.stdout)["cpu_time"]
    assert told["device"] == "proc" and "not permitted" in told["reason"]
    assert "setcap cap_bpf,cap_perfmon+ep" in told["remedy"]


def test_doctor_with_open_counters(run, with_rapl):
    done = subprocess.run([*with_rapl, "--", run.joulery, "doctor"], env=run.environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    for zone in ("package-0", "core", "uncore", "dram", "psys"):
        assert zone in done.stdout


# ---- log ----

def lines_of_log(run, count, *words):
    """The first `count` lines that `joulery log WORDS` streams; then it is interrupted, as with Ctrl-C."""
    job = run.start("log", *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        lines = [job.stdout.readline() for _ in range(count)]
        job.send_signal(signal.SIGINT)
        rest, errors = job.communicate(timeout=60)
    finally:
        job.kill()
    assert job.returncode in (0, 130), errors
    return lines, rest


def test_log_as_csv(run, two_zones):
    lines, rest = lines_of_log(run, 8, "--sysroot", two_zones, "--interval", "50ms")
    rows = list(csv.DictReader(io.StringIO("".join(lines))))
    assert len(rows) == 7
    names = ",".join(rows[0]).lower()
    assert "time" in names and "elapsed" in names and "package-0" in names
    elapsed = [float(r[next(k for k in r if "elapsed" in k)]) for r in rows]
    assert elapsed == sorted(elapsed) and len(set(elapsed)) == 7
    watts = [float(r[k]) for r in rows[1:] for k in r if "cpu/package-0" in k and "watts" in k.lower() and r[k]]
    assert watts and sum(watts) / len(watts) == pytest.approx(20.0, rel=0.25)
    assert rest == "" or rest.endswith("\n"), "the last line is cut"


def test_log_as_json_lines(run, two_zones):
    lines, rest = lines_of_log(run, 5, "--json", "--sysroot", two_zones, "--interval", "50ms")
    for line in [*lines, *rest.splitlines()]:
        entry = json.loads(line)
        assert "elapsed" in json.dumps(list(entry)).lower()
    assert "package-0" in lines[-1]


def test_log_into_a_pipe_that_closes(run, two_zones):
    done = subprocess.run(["bash", "-c", f"'{run.joulery}' log --sysroot '{two_zones}' --interval 20ms | head -n 3; exit ${{PIPESTATUS[0]}}"],
                          env=run.environment, capture_output=True, text=True, timeout=60)
    assert len(done.stdout.splitlines()) == 3
    assert done.returncode in (0, 141) and "terminate" not in done.stderr


def test_log_shows_missing_as_nothing(run, tmp_path):
    zones = [("intel-rapl:0", "package-0", 20.0), ("intel-rapl:0:0", "dram", 3.0)]
    with ScriptedTree(str(tmp_path / "m"), zones, [(0.0, "intel-rapl:0:0", "rubbish")]):
        lines, _ = lines_of_log(run, 6, "--sysroot", str(tmp_path / "m"), "--interval", "50ms")
    rows = list(csv.DictReader(io.StringIO("".join(lines))))
    dram = [r[k] for r in rows for k in r if "dram" in k]
    assert set(dram) <= {""}


# ---- calibrate ----

def own_machine(root):
    """A tree of a machine of its own, no virtual one: two CPUs of this machine's kind, at rest, and no meter."""
    (root / "proc").mkdir(parents=True)
    (root / "sys").mkdir()
    cpuinfo = pathlib.Path("/proc/cpuinfo").read_text().replace(" hypervisor", "")
    (root / "proc" / "cpuinfo").write_text(cpuinfo)
    for name in ("stat", "meminfo"):
        (root / "proc" / name).write_text(pathlib.Path("/proc", name).read_text())
    return str(root)


def test_calibration_changes_the_estimate(run, tmp_path):
    """A machine said to draw 200 W idle and 201 W at most draws 200.5 W ± 0.5 W, whatever it does."""
    words = ("run", "--no-save", "--json", "--sysroot", own_machine(tmp_path / "bare"), "--", "sleep", "0.5")
    before = json_in(run(*words, check=0).stderr)
    run("calibrate", "--idle", "200", "--max", "201", check=0)
    after = json_in(run(*words, check=0).stderr)
    assert "vm-share" not in after["flags"]
    assert after["energy"]["joules"] / after["duration_s"] == pytest.approx(200.5, abs=0.6)
    assert before["energy"]["joules"] / before["duration_s"] != pytest.approx(200.5, abs=0.6)


# ---- help ----

@pytest.mark.parametrize("command", ["run", "doctor", "log", "report", "ledger", "export", "sql", "calibrate"])
def test_help(run, command):
    done = run(command, "--help", check=0)
    assert "joulery" in done.stdout.lower() or command in done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 140


def test_version(run):
    assert run("--version", check=0).stdout.strip()


def test_nothing_asked_shows_help(run):
    done = run()
    assert done.returncode in (0, 2)
    assert "run" in done.stdout + done.stderr
