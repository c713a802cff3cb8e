# scripts/test: serial timeout=900
"""The real jobs of examples/ under `joulery run`: each trains for a few steps, and its report must add up.

Each framework runs in a process of its own (TensorFlow and PyTorch cannot share one): TensorFlow from .venv, PyTorch
from Debian's python3-torch. The recording is kept and told by `joulery report --json`.
"""
import json
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("JOULERY_BUILD", ROOT / "build" / "release"))
JOULERY = BUILD / "joulery"
STEPS, BATCH, EPOCHS = 20, 32, 2

JOBS = {
    "keras": (ROOT / ".venv" / "bin" / "python", "tensorflow", "keras_fashion.py"),
    "torch": (pathlib.Path("/usr/bin/python3"), "torch", "torch_fashion.py"),
}
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(BUILD / "python"),
    "OMP_WAIT_POLICY": "passive",             # threads that spin would take the other threads' time
    "TF_CPP_MIN_LOG_LEVEL": "2",
    "TF_ENABLE_ONEDNN_OPTS": "0",
}


def has_module(python, module):
    if not python.exists():
        return False
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([python, "-c", code], check=False).returncode == 0


def microjoules(joules):
    return round(joules * 1e6)


@pytest.fixture(scope="module", params=JOBS)
def job(request, tmp_path_factory):
    """(what the program printed, its report) of one training."""
    python, module, script = JOBS[request.param]
    if not has_module(python, module):
        pytest.skip(f"skipped: {python} has no {module} (scripts/setup run test)")
    recording = tmp_path_factory.mktemp(request.param) / "run.joulery"
    training = subprocess.run(
        [JOULERY, "run", "-o", recording, "--", python, ROOT / "examples" / script,
         "--steps", str(STEPS), "--batch", str(BATCH), "--epochs", str(EPOCHS)],
        env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert training.returncode == 0, training.stderr
    report = subprocess.run([JOULERY, "report", recording, "--json"], capture_output=True, text=True, check=False)
    assert report.returncode == 0, report.stderr
    return training, json.loads(report.stdout)


def test_the_report_is_of_this_command(job):
    _, report = job
    assert report["schema"] == "joulery.report/1"
    assert report["exit_code"] == 0
    assert report["command"][-1] == str(EPOCHS)
    assert report["duration_s"] > 0


def test_every_step_is_counted_and_has_energy(job):
    _, report = job
    steps = report["steps"]
    assert steps["count"] == STEPS
    assert steps["marks_lost"] == 0
    assert 0 < steps["joules_median"] <= steps["joules_p95"]
    assert steps["seconds_median"] > 0


def test_work_is_in_samples_and_its_figures_agree(job):
    _, report = job
    work, = [row for row in report["work"] if row["unit"] == "sample"]
    assert work["count"] == STEPS * BATCH
    assert work["joules_per_unit"] > 0
    assert work["units_per_joule"] == pytest.approx(1 / work["joules_per_unit"], rel=1e-6)
    assert work["kwh_per_1000"] == pytest.approx(work["joules_per_unit"] * 1000 / 3.6e6, rel=1e-6)


def test_starting_up_has_its_share(job):
    """Importing a framework takes seconds, and none of them is a step."""
    _, report = job
    startup, = [phase for phase in report["phases"] if phase["name"] == "start-up"]
    assert startup["begin_s"] == pytest.approx(0, abs=0.1)
    assert startup["end_s"] > 0.5
    assert 0 < startup["joules"] < report["energy"]["joules"]


def test_phases_sum_to_the_whole(job):
    _, report = job
    assert {"start-up", "steps", "tear-down"} <= {phase["name"] for phase in report["phases"]}
    assert sum(microjoules(phase["joules"]) for phase in report["phases"]) == microjoules(report["energy"]["joules"])


def test_components_sum_to_the_whole(job):
    _, report = job
    counted = [row for row in report["components"] if not row["overlap"] and row["joules"] is not None]
    assert counted
    assert sum(microjoules(row["joules"]) for row in counted) == microjoules(report["energy"]["joules"])
    assert report["energy"]["low"] <= report["energy"]["joules"] <= report["energy"]["high"]


def test_the_process_is_named_and_shares_are_shares(job):
    _, report = job
    python = [row for row in report["processes"] if "python" in row["name"]]
    assert python and max(row["cpu_s"] for row in python) > 0.5
    shares = [row["share"] for row in report["processes"] if row["share"] is not None]
    assert shares and all(share >= 0 for share in shares) and sum(shares) <= 1 + 1e-9


def test_the_accuracy_is_the_one_that_was_printed(job):
    training, report = job
    reached = {row["name"]: row for row in report["kpis"]}
    kpi = reached.get("val_accuracy", reached.get("accuracy"))  # Keras' own name for it, or the one that the loop gives
    printed = float(re.findall(r"images it has not seen:? ([\d.]+)", training.stdout)[-1])
    assert kpi["last"] == pytest.approx(printed, abs=5.1e-4)


@pytest.mark.parametrize("script", ["keras_fashion.py", "torch_fashion.py", "load.py"])
def test_examples_explain_their_options(script):
    name = next((key for key, (_, _, file) in JOBS.items() if file == script), "torch")
    python, module, _ = JOBS[name]
    if not has_module(python, module):
        pytest.skip(f"skipped: {python} has no {module} (scripts/setup run test)")
    shown = subprocess.run([python, ROOT / "examples" / script, "--help"], env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr
    assert "--threads" in shown.stdout


def test_the_load_uses_one_cpu_and_no_more():
    result = subprocess.run(["/usr/bin/python3", ROOT / "examples" / "load.py", "--seconds", "1", "--threads", "1"],
                            capture_output=True, text=True, check=True)
    busy = float(re.search(r"([\d.]+) s of CPU time", result.stdout).group(1))
    assert 0 < busy < 1.2                     # at most the time asked for; a machine that others use gives less
