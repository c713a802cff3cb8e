"""joulery import: another tool's log becomes a recording that report, export and sql take."""
import csv
import io

import pytest

from conftest import ROOT, one_line

SHARED = ROOT.parent / "shared" / "data"
LOG = """timestamp, index, name, power.draw [W], utilization.gpu [%]
2026/03/01 10:00:00.000, 0, Tesla V100-SXM2-16GB, 100.00 W, 10 %
2026/03/01 10:00:00.001, 1, Tesla V100-SXM2-16GB, [N/A], 10 %
2026/03/01 10:00:05.000, 0, Tesla V100-SXM2-16GB, 100.00 W, 10 %
2026/03/01 10:00:05.001, 1, Tesla V100-SXM2-16GB, [N/A], 10 %
2026/03/01 10:00:10.000, 0, Tesla V100-SXM2-16GB, 100.00 W, 10 %
2026/03/01 10:00:10.001, 1, Tesla V100-SXM2-16GB, [N/A], 10 %
"""


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "gpu.csv"
    path.write_text(LOG)
    return path


def rows_of(done):
    return list(csv.DictReader(io.StringIO(done.stdout)))


def test_a_log_becomes_a_recording_for_every_command(run, log, tmp_path):
    rec = tmp_path / "r.joulery"
    done = run("import", log, "-o", rec, "--utc-offset", "+01:00", check=0)
    assert "2 devices" in done.stdout
    report = run.report(rec)
    by_path = {c["path"]: c for c in report["components"]}
    # 100 W over ten seconds; the other card never answered, and is no zero.
    assert by_path["node/gpu/0"]["joules"] == pytest.approx(1000, abs=0.2)
    assert by_path["node/gpu/0"]["meter"] == "nvidia-smi"
    assert by_path["node/gpu/1"]["joules"] is None
    assert "not supported" in by_path["node/gpu/1"]["reason"]
    assert report["energy"]["partial"]
    assert report["begin"].startswith("2026-03-01T09:00:00")
    flags = " ".join(report["flags"])
    assert "imported: nvidia-smi CSV" in flags and "clock-of-the-log" in flags and "not-ended" not in flags
    values = rows_of(run("sql", rec, "SELECT value, missing FROM samples WHERE channel='power' ORDER BY component, t_s", check=0))
    assert [v["value"] for v in values] == ["100", "100", "100", "", "", ""]
    assert len(rows_of(run("export", rec, "--csv", check=0))) > 0
    assert "from a log" in run("report", rec, check=0).stdout


def test_the_run_may_be_a_part_of_the_log(run, log, tmp_path):
    rec = tmp_path / "r.joulery"
    run("import", log, "-o", rec, "--begin", "2026-03-01T10:00:02", "--end", "2026-03-01T10:00:06", check=0)
    report = run.report(rec)
    assert report["duration_s"] == pytest.approx(4)
    assert report["energy"]["joules"] == pytest.approx(400, abs=0.2)


def test_what_is_wrong_is_one_line_and_leaves_no_file(run, log, tmp_path):
    rec = tmp_path / "r.joulery"
    foreign = tmp_path / "foreign"
    foreign.write_text("hello\n")
    one_line(run("import", foreign, "-o", rec, check=1).stderr, foreign, "nvidia-smi-csv")
    one_line(run("import", tmp_path / "none", "-o", rec, check=1).stderr, "none")
    one_line(run("import", tmp_path, "-o", rec, check=1).stderr, tmp_path)
    one_line(run("import", log, "-o", rec, "--begin", "2027-01-01T00:00:00", check=2).stderr, "run ends before it begins")
    one_line(run("import", log, "-o", rec, "--utc-offset", "CET", check=2).stderr, "CET")
    one_line(run("import", log, "-o", rec, "--format", "nvidia-smi-cvs", check=2).stderr, "nvidia-smi-csv")
    one_line(run("import", log, "-o", rec, "--steps", foreign, check=1).stderr, "foreign")
    assert not rec.exists()
    run("import", log, "-o", rec, check=0)
    one_line(run("import", log, "-o", rec, check=2).stderr, "exists already")


def test_a_sensors_gain_is_learnt_and_used(run, log, tmp_path):
    rec = tmp_path / "r.joulery"
    run("import", log, "-o", rec, check=0)
    run("calibrate", "--sensor", rec, "--energy", "1050J", check=0)
    report = run.report(rec)
    gpu = next(c for c in report["components"] if c["path"] == "node/gpu/0")
    assert gpu["joules"] == pytest.approx(1050, abs=0.1)
    assert any(flag.startswith("sensor-gain: node/gpu/0") for flag in report["flags"])
    one_line(run("calibrate", "--sensor", rec, "--energy", "5kJ", check=2).stderr, "no gain")


@pytest.mark.parametrize("name", ["v3.0-nvidia-h100x8-bert99-server", "v1.0-krai-rpi4-resnet50-singlestream"])
def test_a_real_wall_meters_log(run, tmp_path, name):
    folder = SHARED / "mlperf-power" / name
    if not folder.exists():
        pytest.skip("skipped: no ../shared")
    expected = {row["set"]: row for row in csv.DictReader((SHARED / "mlperf-power" / "expected.csv").open())}[name]
    detail = (folder / "run_1" / "mlperf_log_detail.txt").read_text()
    begin, end = (detail.split(f'"{key}", "value": "')[1].split('"')[0] for key in ("power_begin", "power_end"))
    rec = tmp_path / "r.joulery"
    run("import", folder / "run_1" / "spl.txt", "-o", rec, "--begin", begin, "--end", end, check=0)
    energy = run.report(rec)["energy"]
    # The trapezoid, as expected.csv gives it from another program; within the second at either border that one takes power as
    # linear, ours energy.
    assert energy["joules"] == pytest.approx(float(expected["energy_J_trapz"]), rel=5e-5)


@pytest.mark.parametrize("name, text, path, joules", [
    ("perf.csv", "12,34;Joules;power/energy-pkg/;1000000000;100,00\n", "node/cpu", 12.34),
    ("sacct.txt", "JobID|Start|End|NNodes|ConsumedEnergyRaw\n7|2026-03-01T10:00:00|2026-03-01T10:02:02|1|101630\n", "node", 101630),
    ("emissions.csv", "timestamp,duration,cpu_energy,gpu_energy,ram_energy\n2026-03-01T10:00:00,1000,0.0,0.108335,0.0\n", "node/gpu", 390006),
])
def test_totals_of_other_tools(run, tmp_path, name, text, path, joules):
    (tmp_path / name).write_text(text)
    rec = tmp_path / "r.joulery"
    run("import", tmp_path / name, "-o", rec, check=0)
    report = run.report(rec)
    rows = [c for c in report["components"] if c["path"] == path or (path == "node" and c["path"] == "node/rest")]
    assert rows[0]["joules"] == pytest.approx(joules, rel=1e-6)
    assert rows[0]["quality"] == ("estimated" if name == "emissions.csv" else "derived" if path == "node" else "measured")
