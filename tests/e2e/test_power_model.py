# scripts/test: timeout=900
"""How far off the estimate is: scripts/learn_power_model evaluates it anew on measured systems whose processors it has not
seen, and the figures must keep within what the project promises. The rows are not part of the project."""
import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data" / "estimate"
SEEDS = ["7"]  # how the processors are dealt out to ten folds; others differ by 0.2 % (docs/decisions/0003-the-estimate.md)


@pytest.fixture(scope="module")
def figures():
    if not (DATA / "spec" / "specpower-load-levels.csv").exists():
        pytest.skip("skipped: no ../shared")
    done = subprocess.run([sys.executable, ROOT / "scripts" / "learn_power_model", "--data", DATA, "--seeds", ",".join(SEEDS), "--json", "-"],
                          capture_output=True, text=True, timeout=800)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mode,most_mape,most_p95", [("a_priori", 12.0, 35.0), ("two_points", 4.2, 15.0), ("three_points", 2.0, 8.0)])
def test_mean_error_on_unseen_processors(figures, seed, mode, most_mape, most_p95):
    assert figures[seed][mode]["mape"] <= most_mape
    assert figures[seed][mode]["p95"] <= most_p95


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mode", ["a_priori", "two_points", "three_points"])
def test_nine_of_ten_unseen_levels_lie_inside_the_interval(figures, seed, mode):
    assert 87.0 <= figures[seed][mode]["coverage"] <= 93.0


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_not_known_costs_accuracy_and_not_honesty(figures, seed):
    errors = [figures[seed][mode]["mape"] for mode in ("a_priori", "no_tdp", "neither")]
    assert errors == sorted(errors)
    for mode in ("no_tdp", "no_family", "neither"):
        assert 83.0 <= figures[seed][mode]["coverage"] <= 95.0


def test_the_shipped_tables_are_small_and_name_their_source():
    table = ROOT / "data" / "power_model.csv"
    assert table.stat().st_size <= 64 * 1024
    text = table.read_text(encoding="utf-8")
    assert "SPECpower_ssj2008" in text and "spec.org" in text
    assert "MIT" in (ROOT / "data" / "cpu_tdp.csv").read_text(encoding="utf-8")[:400]


def test_without_the_measured_systems_the_script_says_so(tmp_path):
    done = subprocess.run([sys.executable, ROOT / "scripts" / "learn_power_model", "--data", tmp_path], capture_output=True, text=True)
    assert done.returncode != 0
    assert "no SPECpower rows under" in done.stderr and str(tmp_path) in done.stderr
