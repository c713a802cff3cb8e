"""Whatever is wrong is said in one clear line that names what and where; the exit is not 0; nothing is lost."""
import os
import re
import shutil
import sqlite3
import subprocess

import pytest

from conftest import json_in, one_line

READERS = [("report",), ("report", "--json"), ("export", "--csv"), ("export", "--json"), ("export", "--perfetto")]


def call(run, words, file):
    command, *options = words
    return run(command, file, *options)


def refused_before_start(run, tmp_path, *words, codes=(2, 125), names=()):
    """`joulery run WORDS -- touch FILE` must refuse, say why in one line, and not have run the command."""
    ran = tmp_path / "ran"
    done = run("run", *words, "--", "touch", ran)
    assert not ran.exists(), "the command ran"
    assert done.returncode in codes, done.stderr
    assert done.stdout == ""
    return one_line(done.stderr, *names)


# ---- recordings ----

@pytest.mark.parametrize("words", READERS, ids=" ".join)
@pytest.mark.parametrize("keep", ["0", "1", "100", "half", "all but a page"])
def test_truncated_recording(recording, tmp_path, words, keep):
    run, good = recording
    data = good.read_bytes()
    size = {"0": 0, "1": 1, "100": 100, "half": len(data) // 2, "all but a page": len(data) - 4096}[keep]
    file = tmp_path / "short.joulery"
    file.write_bytes(data[:size])
    done = call(run, words, file)
    assert done.returncode not in (0, 3, 4) and done.returncode < 126
    assert done.stdout == ""
    one_line(done.stderr, file)


def foreign_files(folder):
    (folder / "text").write_text("time,watts\n0,1\n")
    (folder / "binary").write_bytes(os.urandom(50_000))
    with sqlite3.connect(folder / "sqlite") as base:
        base.execute("CREATE TABLE emissions(energy REAL)")
    base.close()
    (folder / "folder").mkdir()
    return ["text", "binary", "sqlite", "folder", "absent"]


@pytest.mark.parametrize("words", READERS, ids=" ".join)
@pytest.mark.parametrize("kind", ["text", "binary", "sqlite", "folder", "absent"])
def test_foreign_recording(run, tmp_path, words, kind):
    foreign_files(tmp_path)
    before = (tmp_path / kind).read_bytes() if (tmp_path / kind).is_file() else None
    done = call(run, words, tmp_path / kind)
    assert done.returncode not in (0, 3, 4) and done.returncode < 126
    assert done.stdout == ""
    one_line(done.stderr, tmp_path / kind)
    if before is not None:
        assert (tmp_path / kind).read_bytes() == before
    assert not (tmp_path / "absent").exists()


def test_newer_recording(recording, tmp_path):
    run, good = recording
    file = tmp_path / "newer.joulery"
    shutil.copy(good, file)
    with sqlite3.connect(file) as base:
        version = base.execute("PRAGMA user_version").fetchone()[0]
        assert version > 0, "the format's version is not in user_version"
        base.execute(f"PRAGMA user_version = {version + 2}")
    base.close()
    done = run("report", file)
    assert done.returncode not in (0, 3, 4)
    assert "newer" in one_line(done.stderr, file)


@pytest.mark.parametrize("seed", range(8))
def test_damaged_recording_is_refused_or_read_but_never_crashes(recording, tmp_path, seed):
    run, good = recording
    data = bytearray(good.read_bytes())
    for n in range(40):
        data[(seed * 7919 + n * 104729 + 101) % len(data)] ^= 0x5A
    file = tmp_path / "damaged.joulery"
    file.write_bytes(data)
    done = run("report", file, "--json")
    assert 0 <= done.returncode < 126, done.stderr
    if done.returncode:
        one_line(done.stderr, file)


def test_unreadable_recording(recording, tmp_path):
    run, good = recording
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root and setpriv")
    file = tmp_path / "secret.joulery"
    shutil.copy(good, file)
    file.chmod(0o600)
    done = as_nobody(run, "report", file)
    if "cannot execute" in done.stderr or "failed to execute" in done.stderr:
        pytest.skip("the program is not readable by others here")
    assert done.returncode not in (0, 3, 4)
    one_line(done.stderr, file)


def as_nobody(run, *words):
    for folder in (run.home, *run.home.parents):
        if str(folder).startswith("/tmp/") and os.stat(folder).st_uid == 0:
            os.chmod(folder, os.stat(folder).st_mode | 0o055)
    return subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", run.joulery, *map(str, words)],
                          env=run.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


# ---- options ----

@pytest.mark.parametrize("interval", ["0", "0ms", "-1s", "999us", "61min", "1.0001h", "abc", "", "10", "5W", "1e400s", "nan s"])
def test_bad_interval(run, tmp_path, interval):
    refused_before_start(run, tmp_path, f"--interval={interval}", codes=(2,), names=("interval",))


@pytest.mark.parametrize("words", [
    ("--no-such-option",), ("-r", "0"), ("-r", "-3"), ("-r", "many"), ("--warmup", "-1"), ("--baseline", "5 joules"),
    ("--work", "640x", "--unit", "sample"), ("--work", "-5", "--unit", "sample"), ("--work", "0", "--unit", "sample")],
    ids=" ".join)
def test_bad_option(run, tmp_path, words):
    refused_before_start(run, tmp_path, *words, codes=(2,), names=(words[0],))


def test_no_command(run):
    done = run("run")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.strip()


@pytest.mark.parametrize("place", ["ZZZ", "Atlantis", "", "D E", "de-nowhere-9"])
def test_unknown_place(run, tmp_path, place):
    refused_before_start(run, tmp_path, f"--place={place}", "--no-save", names=("place",))


def test_unknown_place_shows_near_names(run, tmp_path):
    line = refused_before_start(run, tmp_path, "--place", "Germny", "--no-save", names=("Germny",))
    assert "Germany" in line or "DEU" in line or "DE" in line


@pytest.mark.parametrize("sysroot", ["absent", "file"])
def test_bad_sysroot(run, tmp_path, sysroot):
    (tmp_path / "file").write_text("")
    refused_before_start(run, tmp_path, "--sysroot", tmp_path / sysroot, "--no-save", names=(tmp_path / sysroot,))


# ---- places to write ----

def test_recording_in_a_missing_folder(run, tmp_path):
    path = tmp_path / "no" / "such" / "x.joulery"
    refused_before_start(run, tmp_path, "-o", path, codes=(125,), names=(path,))


def test_recording_below_a_file(run, tmp_path):
    (tmp_path / "file").write_text("mine")
    refused_before_start(run, tmp_path, "-o", tmp_path / "file" / "x.joulery", codes=(125,), names=(tmp_path / "file",))


@pytest.mark.parametrize("content", [b"precious", b""])
def test_existing_file_is_not_overwritten(run, tmp_path, content):
    path = tmp_path / "mine"
    path.write_bytes(content)
    refused_before_start(run, tmp_path, "-o", path, codes=(125,), names=(path,))
    assert path.read_bytes() == content


def test_recording_onto_a_folder(run, tmp_path):
    refused_before_start(run, tmp_path, "-o", tmp_path, codes=(125,), names=(tmp_path,))


def test_unwritable_folder(run, tmp_path):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root and setpriv")
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o755)
    done = as_nobody(run, "run", "-o", folder / "x.joulery", "--", "touch", "/dev/null")
    if "failed to execute" in done.stderr:
        pytest.skip("the program is not readable by others here")
    assert done.returncode == 125
    one_line(done.stderr, folder / "x.joulery")


def test_data_folder_that_cannot_be_made(run, tmp_path):
    (tmp_path / "data").write_text("a file where the folder should be")
    refused_before_start(run, tmp_path, codes=(125,), names=(tmp_path / "data",))


@pytest.fixture
def small_disk(tmp_path):
    """Words that run a shell script with a 1 MiB file system at the folder given."""
    folder = tmp_path / "disk"
    folder.mkdir()
    probe = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "-o", "size=1m", "none", str(folder)], capture_output=True)
    if probe.returncode:
        pytest.skip("needs root for a small tmpfs")

    def script(run, text):
        words = ["unshare", "-m", "sh", "-c", f"mount -t tmpfs -o size=1m none {folder} && cd {folder} && {text}"]
        return subprocess.run(words, env={**run.environment, "J": run.joulery}, capture_output=True, text=True, timeout=100)

    return folder, script


def test_disk_full_before_the_start(run, small_disk):
    folder, script = small_disk
    done = script(run, f"cat /dev/zero > fill 2>/dev/null; $J run -o {folder}/x.joulery -- touch {run.home}/ran; exit $?")
    assert done.returncode == 125, done.stderr
    assert not (run.home / "ran").exists()
    one_line(done.stderr, f"{folder}/x.joulery")


def test_disk_fills_during_the_run(run, small_disk, two_zones, tmp_path):
    """CMD goes on and keeps its exit code, the summary still tells the energy, and one line says where the recording is."""
    folder, script = small_disk
    done = script(run, f"export TMPDIR={tmp_path}; $J run --sysroot {two_zones} -o {folder}/x.joulery -- sh -c 'cat /dev/zero > fill 2>/dev/null; sleep 2.5; exit 7'")
    assert done.returncode == 7, done.stderr
    assert "x.joulery" in done.stderr
    assert [line for line in done.stderr.splitlines() if "no space" in line.lower() or "full" in line.lower()], done.stderr
    assert "J" in done.stderr and "package" in done.stderr.lower(), "the summary was lost"
    kept = re.search(r"the whole recording is in (\S+/x\.joulery) instead", done.stderr)
    assert kept, done.stderr
    report = run.report(kept[1])
    assert report["duration_s"] > 2.4
    package = [c for c in report["components"] if c["path"].endswith("package-0")][0]
    assert package["joules"] == pytest.approx(20.0 * report["duration_s"], abs=20.0 * 0.2)


def test_disk_fills_and_there_is_no_other_place(run, small_disk, two_zones):
    folder, script = small_disk
    done = script(run, f"export TMPDIR={folder}; $J run --sysroot {two_zones} -o {folder}/x.joulery -- "
                       f"sh -c 'sleep 1.3; cat /dev/zero > fill 2>/dev/null; sleep 1.5'; code=$?; ls; exit $code")
    assert done.returncode == 125, done.stderr
    line = done.stderr.splitlines()[0]
    assert f"{folder}/x.joulery" in line and re.search(r"incomplete from \d\.\d s after the start", line), done.stderr
    assert "ends before the command did" in done.stderr
    assert "x.joulery" in done.stdout.split()


def test_disk_fills_and_is_freed(run, small_disk, two_zones, tmp_path):
    folder, script = small_disk
    done = script(run, f"$J run --sysroot {two_zones} --json -o {folder}/x.joulery -- "
                       f"sh -c 'cat /dev/zero > fill 2>/dev/null; sleep 2; rm fill; sleep 1.5; exit 7'; code=$?; "
                       f"cp x.joulery {tmp_path}/copy.joulery; exit $code")
    assert done.returncode == 7, done.stderr
    report = run.report(tmp_path / "copy.joulery")
    assert report["duration_s"] > 3.0
    package = [c for c in report["components"] if c["path"].endswith("cpu/package-0")][0]
    assert package["joules"] == pytest.approx(20.0 * report["duration_s"], abs=20.0 * 0.2)


def test_export_to_a_full_device(recording):
    run, good = recording
    with open("/dev/full", "w", encoding="ascii") as full:
        done = run("export", good, "--csv", stdout=full)
    assert done.returncode not in (0, 3, 4)
    one_line(done.stderr)


def test_reader_that_goes_away(recording):
    run, good = recording
    done = subprocess.run(["bash", "-c", f"'{run.joulery}' export '{good}' --csv | head -n 1; exit ${{PIPESTATUS[0]}}"],
                          env=run.environment, capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 141)
    assert "terminate" not in done.stderr


def test_summary_to_a_full_stderr_keeps_the_code(run):
    with open("/dev/full", "w", encoding="ascii") as full:
        assert run("run", "--no-save", "--", "sh", "-c", "exit 23", stderr=full).returncode == 23


def test_sql_that_is_no_sql(recording):
    run, good = recording
    done = run("sql", good, "SELEKT 1")
    assert done.returncode not in (0, 3, 4) and done.stdout == ""
    one_line(done.stderr)


def test_sql_cannot_change_a_recording(recording, tmp_path):
    run, good = recording
    file = tmp_path / "kept.joulery"
    shutil.copy(good, file)
    tables = run("sql", file, "SELECT name FROM sqlite_master WHERE type = 'table'", check=0).stdout.split()
    before = file.read_bytes()
    for words in [f"DROP TABLE {tables[-1]}", "CREATE TABLE mine(x)", "ATTACH '/dev/null' AS other; DELETE FROM other.x"]:
        assert run("sql", file, words).returncode != 0
    assert file.read_bytes() == before


def test_unknown_command(run):
    done = run("measur")
    assert done.returncode == 2
    assert "measur" in done.stderr


@pytest.mark.parametrize("words", [("--idle", "300", "--max", "100"), ("--idle", "abc", "--max", "100"), ("--idle", "-5", "--max", "100"),
                                   ("--idle", "10J", "--max", "100W"), ()], ids=" ".join)
def test_bad_calibration(run, words):
    done = run("calibrate", *words)
    assert done.returncode == 2
    assert done.stderr.strip() and "terminate" not in done.stderr


def test_bad_configuration_file(run, tmp_path):
    folder = tmp_path / "config" / "joulery"
    folder.mkdir(parents=True)
    for file in ("config.toml", "joulery.toml"):
        (folder / file).write_text("intervall = '100ms'\n")
    done = run("run", "--no-save", "--", "touch", tmp_path / "ran")
    assert done.returncode in (2, 125)
    assert not (tmp_path / "ran").exists()
    assert "interval" in one_line(done.stderr, "intervall")


def test_json_report_of_a_failed_run_still_parses(run, two_zones):
    done = run("run", "--no-save", "--json", "--sysroot", two_zones, "--", "no-such-command-anywhere")
    assert done.returncode == 127
    if "{" in done.stderr:
        json_in(done.stderr)
