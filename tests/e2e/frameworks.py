"""The interpreter that has the real frameworks, and one training under `joulery run` on a machine of known power.

The interpreter is $JOULERY_TEST_PYTHON, else .venv of this tree (scripts/setup run frameworks). Each training is a process of its own:
TensorFlow and PyTorch cannot share one.
"""
import decimal
import json
import os
import pathlib
import subprocess
import textwrap

import pytest
from conftest import TWO_ZONES, Runner, built
from scripted_tree import ScriptedTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
WATTS = sum(watts for _, _, watts in TWO_ZONES)   # of the scripted machine: constant
LIMIT_S = 240


def python():
    given = os.environ.get("JOULERY_TEST_PYTHON")
    return pathlib.Path(given) if given else ROOT / ".venv" / "bin" / "python"


def need(*modules):
    """Skips, saying what is missing, where the interpreter lacks one of `modules`."""
    path = python()
    if not path.exists():
        pytest.skip(f"skipped: no {path} with {', '.join(modules)} (scripts/setup run frameworks)")
    code = f"import importlib.util, sys; print(*[m for m in {modules!r} if importlib.util.find_spec(m) is None])"
    missing = subprocess.run([path, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    if missing:
        pytest.skip(f"skipped: {path} has no {', '.join(missing)} (scripts/setup run frameworks)")


def environment():
    return {"PYTHONPATH": str(built("python")), "OMP_WAIT_POLICY": "passive", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1",
            "TF_CPP_MIN_LOG_LEVEL": "2", "TF_ENABLE_ONEDNN_OPTS": "0", "TF_NUM_INTRAOP_THREADS": "1", "HF_HUB_OFFLINE": "1",
            "CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu", "TOKENIZERS_PARALLELISM": "false", "PYTHONDONTWRITEBYTECODE": "1"}


class Training:
    """What one training left: its report, the objects that it told (by tell(name, value)), its output and its recording."""

    def __init__(self, done, report, told, recording):
        self.done, self.report, self.told, self.recording = done, report, told, recording


PRELUDE = """
import json, os, joulery
_told = {}
def tell(**values):
    _told.update(values)
    with open(os.environ["TOLD"], "w") as file:
        json.dump(_told, file)

"""


def train(joulery, folder, code, *words, env=None, files=()):
    """Runs `code` under `joulery run` on the scripted machine; it must succeed, and call tell(). `files` lie beside it."""
    runner = Runner(joulery, folder)
    script, told, recording = folder / "train.py", folder / "told.json", folder / "run.joulery"
    script.write_text(PRELUDE + textwrap.dedent(code))
    for name, text in dict(files).items():
        (folder / name).write_text(textwrap.dedent(text))
    with ScriptedTree(str(folder / "machine"), TWO_ZONES):
        done = runner("run", "--quiet", "--sysroot", folder / "machine", "-o", recording, *words, "--", python(), script, cwd=folder,
                      timeout=LIMIT_S, env={**environment(), "TOLD": str(told), **(env or {})})
    assert done.returncode == 0, done.stdout + done.stderr
    assert told.exists(), "the training told nothing"
    text = runner("report", recording, "--json", check=0).stdout
    return Training(done, json.loads(text, parse_float=decimal.Decimal), json.loads(told.read_text()), recording)


def check_sums(training):
    """Phases and counted components sum to the run's energy, to the microjoule."""
    report = training.report
    whole = report["energy"]["joules"]
    assert whole is not None and whole > 0
    assert sum(phase["joules"] for phase in report["phases"]) == whole
    assert sum(row["joules"] for row in report["components"] if not row["overlap"] and row["joules"] is not None) == whole
    assert [phase["name"] for phase in report["phases"]] == ["start-up", "steps", "between steps", "tear-down"]


def check_epoch(figures, samples=None):
    """An epoch's figures on the scripted machine: its power is known, its energy by the power and the duration."""
    assert figures["quality"] == "measured"
    assert abs(figures["energy_j"] - WATTS * figures["seconds"]) <= 0.05 * WATTS * figures["seconds"] + 0.5
    assert abs(figures["watts"] - figures["energy_j"] / figures["seconds"]) < 1e-6
    if samples is not None:
        assert figures["samples"] == samples
        assert abs(figures["j_per_sample"] - figures["energy_j"] / samples) < 1e-9


def kpi(training, name):
    found = [row for row in training.report["kpis"] if row["name"] == name]
    assert found, [row["name"] for row in training.report["kpis"]]
    return found[0]


def work(training, unit="sample"):
    found = [row for row in training.report["work"] if row["unit"] == unit]
    assert found, training.report["work"]
    return found[0]
