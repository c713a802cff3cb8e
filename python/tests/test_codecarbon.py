"""CodeCarbon's front: its arguments, its columns, its ways to start and stop; and that nothing unknown becomes a number."""

import csv
import json
import os
import pathlib
import subprocess
import time

import pytest

from joulery import _emissions_csv, _joulery
from joulery.codecarbon import EmissionsTracker, OfflineEmissionsTracker, OutputMethod, track_emissions, track_task_emissions

ROOT = pathlib.Path(__file__).resolve().parents[2]

# A report as the meters of a machine of known power would give it: 36 J of CPU, 3.6 J of DRAM, 0.4 J of the rest, in 2 s.
KNOWN = {
    "duration_s": 2.0,
    "energy": {"joules": 40.0},
    "components": [
        {"path": "node/cpu/package-0", "joules": 20.0, "overlap": False},
        {"path": "node/cpu/package-0/core", "joules": 15.0, "overlap": True},
        {"path": "node/cpu/package-1", "joules": 16.0, "overlap": False},
        {"path": "node/dram/package-0", "joules": 3.6, "overlap": False},
        {"path": "node/rest", "joules": 0.4, "overlap": False},
    ],
}
UNKNOWN = {"duration_s": 2.0, "energy": {"joules": None}, "components": [{"path": "node/cpu/package-0", "joules": None, "overlap": False}]}


@pytest.fixture
def told(monkeypatch, tmp_path):
    """Lets a test say what the meters tell; the file goes to the current folder."""
    monkeypatch.chdir(tmp_path)
    reports = {"report": KNOWN}
    monkeypatch.setattr(_joulery, "begin_session", lambda interval, name: name)
    monkeypatch.setattr(_joulery, "session_report", lambda handle: json.dumps(reports["report"]))
    monkeypatch.setattr(_joulery, "end_session", lambda handle: json.dumps(reports["report"]))
    return reports


def rows(path="emissions.csv"):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def shipped_intensity(code):
    """Grams per kWh as the shipped table says it, read on its own."""
    with open(ROOT / "data" / "carbon_intensity.csv", newline="") as file:
        lines = [line for line in file if not line.startswith("#")]
    return next(float(row["g_per_kwh"]) for row in csv.DictReader(lines) if row["code"] == code)


def test_energies_powers_and_emissions_are_codecarbons_units(told):
    with EmissionsTracker(project_name="p", country_iso_code="SWE") as tracker:
        pass
    (row,) = rows()
    assert float(row["energy_consumed"]) == pytest.approx(40 / 3.6e6)
    assert float(row["cpu_energy"]) == pytest.approx(36 / 3.6e6)  # both packages; the cores are inside one of them
    assert float(row["ram_energy"]) == pytest.approx(3.6 / 3.6e6)
    assert float(row["cpu_power"]) == pytest.approx(18)
    assert float(row["duration"]) == 2.0
    kg = 40 / 3.6e6 * shipped_intensity("SE") / 1000
    assert float(row["emissions"]) == pytest.approx(kg) and tracker.final_emissions == pytest.approx(kg)
    assert float(row["emissions_rate"]) == pytest.approx(kg / 2)
    assert (row["country_name"], row["country_iso_code"], row["project_name"]) == ("Sweden", "SWE", "p")


def test_what_is_not_known_stays_empty(told):
    told["report"] = UNKNOWN
    tracker = EmissionsTracker()
    tracker.start()
    assert tracker.stop() is None
    (row,) = rows()
    for name in ("emissions", "emissions_rate", "energy_consumed", "cpu_energy", "gpu_energy", "ram_energy", "cpu_power", "gpu_power",
                 "water_consumed", "longitude", "latitude", "gpu_count", "cpu_utilization_percent", "ram_used_gb"):
        assert row[name] == "", name
    assert float(row["duration"]) == 2.0


def test_pue_and_a_given_intensity_multiply(told):
    tracker = EmissionsTracker(pue=1.5, force_carbon_intensity_g_co2e_kwh=100)
    tracker.start()
    assert tracker.stop() == pytest.approx(40 * 1.5 / 3.6e6 * 0.1)
    assert float(rows()[0]["cpu_energy"]) == pytest.approx(36 * 1.5 / 3.6e6)
    assert float(rows()[0]["pue"]) == 1.5


def test_rows_are_appended_or_updated(told):
    for _ in range(2):
        tracker = EmissionsTracker(on_csv_write="update")
        tracker.start()
        tracker.flush()
        tracker.stop()
    assert len(rows()) == 2  # a row a run, however often it was flushed
    tracker = EmissionsTracker()
    tracker.start()
    tracker.flush()
    tracker.stop()
    assert len(rows()) == 4


def test_a_file_of_codecarbons_is_continued_in_its_own_order(told, tmp_path):
    columns = sorted(_emissions_csv.COLUMNS)
    (tmp_path / "emissions.csv").write_text(",".join(columns) + "\n" + "," * (len(columns) - 1) + "\n")
    with EmissionsTracker(project_name="second"):
        pass
    assert [row["project_name"] for row in rows()] == ["", "second"]
    assert (tmp_path / "emissions.csv").read_text().splitlines()[0] == ",".join(columns)


def test_a_file_of_other_columns_is_set_aside(told, tmp_path):
    (tmp_path / "emissions.csv").write_text("a,b\n1,2\n")
    with EmissionsTracker():
        pass
    assert len(rows()) == 1
    (kept,) = tmp_path.glob("emissions.csv_*.bak")
    assert kept.read_text() == "a,b\n1,2\n"


def test_tasks_have_their_own_rows_and_sum_up(told):
    tracker = EmissionsTracker(experiment_name="exp", country_iso_code="FRA")
    tracker.start_task("load")
    load = tracker.stop_task()
    tracker.start_task("train")
    tracker.stop_task("train")
    assert load.energy_consumed == pytest.approx(40 / 3.6e6) and load.task_name == "load"
    assert tracker.stop() == pytest.approx(2 * 40 / 3.6e6 * shipped_intensity("FR") / 1000)
    tasks = rows(f"emissions_exp_{tracker.run_id}.csv")
    assert [task["task_name"] for task in tasks] == ["load", "train"]
    assert float(rows()[0]["energy_consumed"]) == pytest.approx(80 / 3.6e6)


def test_decorators(told):
    @track_emissions(project_name="decorated", offline=True, country_iso_code="USA")
    def double(x):
        """Twice."""
        return 2 * x

    assert double(4) == 8 and double.__doc__ == "Twice."
    assert rows()[0]["project_name"] == "decorated"

    @track_emissions
    def plain():
        return 1

    assert plain() == 1 and len(rows()) == 2
    tracker = EmissionsTracker()

    @track_task_emissions(tracker=tracker, task_name="t")
    def task():
        return 3

    assert task() == 3
    assert "t" in tracker._tasks


def test_arguments_of_codecarbon_are_taken_and_others_refused(told, capfd):
    EmissionsTracker(measure_power_secs=10, api_key="x", log_level="error", tracking_mode="process", gpu_ids=[0], save_to_file=False,
                     allow_multiple_runs=True, rapl_include_dram=True)
    assert "api_key has no meaning here" in capfd.readouterr().err
    with pytest.raises(TypeError, match="no_such"):
        EmissionsTracker(no_such=1)
    with pytest.raises(OSError, match="doesn't exist"):
        EmissionsTracker(output_dir="not/there")
    with pytest.raises(ValueError):
        EmissionsTracker(on_csv_write="else")
    with pytest.raises(ValueError, match="Atlantis"):
        EmissionsTracker(country_iso_code="Atlantis")
    tracker = OfflineEmissionsTracker(country_iso_code="USA", region="california", output_methods=[OutputMethod.LOGGER])
    tracker.start()
    assert tracker.stop() > 0
    assert not os.path.exists("emissions.csv")
    assert tracker.final_emissions_data.region == "California"


def test_real_meters_and_the_importer_agree(tmp_path, monkeypatch):
    """What this machine tells, through the file and `joulery import`, is the same energy; where nothing is known it stays so."""
    monkeypatch.chdir(tmp_path)
    tracker = EmissionsTracker(project_name="real")
    tracker.start()
    time.sleep(0.4)
    tracker.flush()
    time.sleep(0.2)
    tracker.stop()
    data = tracker.final_emissions_data
    assert 0.6 <= data.duration < 60
    assert len(rows()) == 2
    if data.energy_consumed is None:
        assert rows()[-1]["energy_consumed"] == ""
        return
    assert float(rows()[0]["energy_consumed"]) < data.energy_consumed
    build = pathlib.Path(os.environ.get("JOULERY_BUILD", ROOT / "build" / "release"))
    done = subprocess.run([build / "joulery", "import", "emissions.csv", "-o", "out.joulery"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_columns_are_those_of_codecarbon_itself():
    python = pathlib.Path(os.environ.get("JOULERY_TEST_PYTHON", ROOT / ".venv" / "bin" / "python"))
    code = """
import dataclasses, json
from codecarbon.output_methods.emissions_data import EmissionsData, TaskEmissionsData
print(json.dumps([[field.name for field in dataclasses.fields(kind)] for kind in (EmissionsData, TaskEmissionsData)]))
"""
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False) if python.exists() else None
    if done is None or "No module named 'codecarbon'" in done.stderr:
        pytest.skip(f"skipped: {python} has no codecarbon (scripts/setup run test)")
    assert done.returncode == 0, done.stderr
    run, task = json.loads(done.stdout)
    assert list(_emissions_csv.COLUMNS) == run
    assert list(_emissions_csv.TASK_COLUMNS) == task
