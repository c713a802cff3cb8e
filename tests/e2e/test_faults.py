# scripts/test: serial timeout=300
"""Six packages, each ill in its own way while a run lasts: each fault costs a named gap there and no joule elsewhere."""
import json

import pytest

from conftest import Runner, microjoules
from scripted_tree import ScriptedTree

WATTS = 20.0
ZONES = [(f"intel-rapl:{n}", f"package-{n}", WATTS) for n in range(7)]
# what happens to which package, and for how long its energy may be unknown (s)
FAULTS = {"healthy": (0, 0.0), "rubbish": (1, 1.0), "stuck": (2, 1.5), "fall": (3, 0.0), "jump": (4, 0.0), "disappears": (5, 1.0), "empty": (6, 1.0)}
STEPS = [(1.0, "intel-rapl:1", "rubbish"), (2.0, "intel-rapl:1", "heal"),
         (1.0, "intel-rapl:2", "stuck"), (2.5, "intel-rapl:2", "heal"),
         (1.5, "intel-rapl:3", "fall=700"),
         (1.5, "intel-rapl:4", "jump=90000"),
         (1.0, "intel-rapl:5", "remove"), (2.0, "intel-rapl:5", "heal"),
         (1.0, "intel-rapl:6", "empty"), (2.0, "intel-rapl:6", "heal")]
# Reading late or writing late on a busy machine, and one round on either side of a fault.
SLACK_J = WATTS * 0.25


@pytest.fixture(scope="module")
def report(joulery, tmp_path_factory):
    home = tmp_path_factory.mktemp("faults")
    run = Runner(joulery, home)
    with ScriptedTree(str(home / "machine"), ZONES, STEPS):
        done = run("run", "--interval", "50ms", "--sysroot", home / "machine", "-o", home / "f.joulery", "--", "sleep", "3.5")
    assert done.returncode == 0, done.stderr
    return run.report(home / "f.joulery")


def package(report, number):
    rows = [c for c in report["components"] if c["path"].endswith(f"cpu/package-{number}")]
    assert len(rows) == 1, [c["path"] for c in report["components"]]
    return rows[0]


@pytest.mark.parametrize("fault", FAULTS)
def test_energy_is_what_was_burnt_less_what_the_fault_hid(report, fault):
    number, hidden_s = FAULTS[fault]
    burnt = WATTS * report["duration_s"]
    joules = package(report, number)["joules"]
    assert joules is not None
    assert burnt - WATTS * hidden_s - SLACK_J <= joules <= burnt + SLACK_J


@pytest.mark.parametrize("fault", [f for f in FAULTS if f != "healthy"])
def test_fault_is_a_named_gap(report, fault):
    number, _ = FAULTS[fault]
    gaps = [g for g in report["sampling"]["gaps"] if f"package-{number}" in g["reason"]]
    assert gaps, json.dumps(report["sampling"]["gaps"])
    for gap in gaps:
        assert 0.7 <= gap["begin_s"] < gap["end_s"] <= 3.0, gap


def test_healthy_package_has_no_gap(report):
    assert [g for g in report["sampling"]["gaps"] if "package-0" in g["reason"]] == []


def test_parts_still_sum(report):
    parts = [c["joules"] for c in report["components"] if not c["overlap"] and c["joules"] is not None]
    assert sum(map(microjoules, parts)) == microjoules(report["energy"]["joules"])


def test_lost_energy_makes_the_total_partial(report):
    lost = [g for g in report["sampling"]["gaps"] if g.get("energy_lost")]
    if lost:
        assert report["energy"]["partial"] is True


def test_counter_that_wraps_costs_nothing(joulery, tmp_path):
    """A 262 143.328850 J counter 10 J below its top wraps half a second into a run at 20 W."""
    run = Runner(joulery, tmp_path)
    with ScriptedTree(str(tmp_path / "m"), ZONES[:1], start_uj=262143328850 - 10_000_000):
        run("run", "--sysroot", tmp_path / "m", "-o", tmp_path / "w.joulery", "--", "sleep", "1.5", check=0)
    wrapped = run.report(tmp_path / "w.joulery")
    assert package(wrapped, 0)["joules"] == pytest.approx(WATTS * wrapped["duration_s"], abs=SLACK_J)
    assert wrapped["energy"]["partial"] is False or not any("package" in m for m in wrapped["energy"]["missing"])


def test_everything_disappears_for_good(joulery, tmp_path):
    run = Runner(joulery, tmp_path)
    with ScriptedTree(str(tmp_path / "m"), ZONES[:2], [(1.0, "intel-rapl:0", "remove"), (1.0, "intel-rapl:1", "remove")]):
        done = run("run", "--sysroot", tmp_path / "m", "-o", tmp_path / "w.joulery", "--", "sh", "-c", "sleep 2; exit 9")
    assert done.returncode == 9
    lost = run.report(tmp_path / "w.joulery")
    for number in (0, 1):
        joules = package(lost, number)["joules"]
        assert joules is None or joules <= WATTS * 1.0 + SLACK_J
    assert lost["energy"]["partial"] is True
