# scripts/test: serial timeout=300
"""The real thing: a 10-second load under the fake RAPL, against the model's own counter."""
import json
import subprocess

import pytest

from conftest import row


@pytest.fixture(scope="module")
def measured(joulery, with_rapl, staircase_load, tmp_path_factory):
    from conftest import Runner
    home = tmp_path_factory.mktemp("truth")
    run = Runner(joulery, home)
    words = [*with_rapl, "--", joulery, "run", "-o", str(home / "t.joulery"), "--", staircase_load, "10", "5", str(home / "truth.json")]
    done = subprocess.run(words, env=run.environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return run.report(home / "t.joulery"), json.loads((home / "truth.json").read_text())["joules"]


@pytest.mark.parametrize("zone, path", [("intel-rapl:0 package-0", "package-0"), ("intel-rapl:0:2 dram", "dram"),
                                        ("intel-rapl:0:0 core", "node/cpu/package-0/core")])
def test_within_half_a_percent_of_the_models_own_counter(measured, zone, path):
    report, truth = measured
    assert row(report, path)["joules"] == pytest.approx(truth[zone], rel=0.005)


def test_each_joule_counted_once(measured):
    """The total is package plus DRAM; core and uncore lie within the package and psys over it all."""
    report, truth = measured
    counted = [c["path"] for c in report["components"] if not c["overlap"] and c["quality"] == "measured"]
    assert sorted(counted) == ["node/cpu/package-0", "node/dram/package-0"]
    total = sum(c["joules"] for c in report["components"] if not c["overlap"] and c["quality"] == "measured")
    assert total == pytest.approx(truth["intel-rapl:0 package-0"] + truth["intel-rapl:0:2 dram"], rel=0.005)


def test_overlaps_are_shown_apart(measured):
    report, truth = measured
    apart = [c for c in report["components"] if c["overlap"]]
    assert {"core", "uncore"} <= {c["path"].rsplit("/", 1)[-1] for c in apart}
    psys = [c for c in apart if abs(c["joules"] / truth["intel-rapl:1 psys"] - 1) < 0.005]
    assert len(psys) == 1


def test_interval_holds_the_truth(measured):
    report, truth = measured
    package = row(report, "package-0")
    assert package["low"] <= truth["intel-rapl:0 package-0"] <= package["high"]
