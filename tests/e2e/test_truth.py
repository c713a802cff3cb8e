# scripts/test: serial timeout=300
"""The real thing: a 10-second load under the fake RAPL, against the model's own counter."""
import json
import os
import subprocess

import pytest

from conftest import microjoules, row


@pytest.fixture(scope="module")
def measured(joulery, with_rapl, staircase_load, tmp_path_factory):
    from conftest import Runner
    home = tmp_path_factory.mktemp("truth")
    run = Runner(joulery, home)
    words = [*with_rapl, "--", joulery, "run", "-o", str(home / "t.joulery"), "--", staircase_load, "10", "5", str(home / "truth.json")]
    done = subprocess.run(words, env=run.environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return run.report(home / "t.joulery"), json.loads((home / "truth.json").read_text())


# Of each zone that rapl_fuse lays by default: watts idle, and more for each busy CPU.
ZONES = {"intel-rapl:0 package-0": (10, 20), "intel-rapl:0:2 dram": (1.5, 1), "intel-rapl:0:0 core": (2, 18)}


def outside(report, truth, zone):
    """The least and the most that a zone can burn in the time by which the run was longer than the load: the start of a
    process, long where the machine is busy. The model's counter tells of the load alone."""
    seconds = report["duration_s"] - (truth["end_ns"] - truth["begin_ns"]) * 1e-9
    assert seconds >= 0
    idle, busy = ZONES[zone]
    return idle * seconds, (idle + busy * os.cpu_count()) * seconds


@pytest.mark.parametrize("zone, path", [("intel-rapl:0 package-0", "package-0"), ("intel-rapl:0:2 dram", "dram"),
                                        ("intel-rapl:0:0 core", "node/cpu/package-0/core")])
def test_within_half_a_percent_of_the_models_own_counter(measured, zone, path):
    report, truth = measured
    least, most = outside(report, truth, zone)
    joules = truth["joules"][zone]
    assert joules * 0.995 + least <= row(report, path)["joules"] <= joules * 1.005 + most


def test_each_joule_counted_once(measured):
    """The total is package plus DRAM; core and uncore lie within the package and psys over it all."""
    report, _ = measured
    counted = [c["path"] for c in report["components"] if not c["overlap"] and c["quality"] == "measured"]
    assert sorted(counted) == ["node/cpu/package-0", "node/dram/package-0"]
    rows = {c["path"]: microjoules(c["joules"]) for c in report["components"] if c["path"] in counted}
    assert sum(rows.values()) == microjoules(report["energy"]["joules"])


def test_overlaps_are_shown_apart(measured):
    report, truth = measured
    apart = [c for c in report["components"] if c["overlap"]]
    assert {"core", "uncore"} <= {c["path"].rsplit("/", 1)[-1] for c in apart}
    psys = [c for c in apart if abs(c["joules"] / truth["joules"]["intel-rapl:1 psys"] - 1) < 0.01]
    assert len(psys) == 1


def test_interval_holds_the_truth(measured):
    report, truth = measured
    package = row(report, "package-0")
    assert package["low"] <= truth["joules"]["intel-rapl:0 package-0"] <= package["high"]
