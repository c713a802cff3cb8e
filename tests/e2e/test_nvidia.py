# scripts/test: timeout=300
"""NVIDIA GPUs in the real program, through the scripted stand-in for the driver's library."""
import json

import pytest

from conftest import Runner, built

H100 = "gpu 0 name NVIDIA H100 80GB HBM3\ngpu 0 uuid GPU-aaaa0000-0000\ngpu 0 window 1000\ngpu 0 instant 25\n"
MINE = "gpu 1 name NVIDIA H100 80GB HBM3\ngpu 1 uuid GPU-bbbb0000-0000\ngpu 1 watts 0 100\n"


@pytest.fixture(scope="module")
def library():
    path = built("standins/libnvidia-ml.so.1")
    if path is None:
        pytest.fail("the stand-in is not built: cmake --build --preset dev")
    return path.parent


@pytest.fixture
def run(joulery, library, tmp_path):
    """The program on a machine whose GPUs do as the script says; .script is the file, which may change."""
    runner = Runner(joulery, tmp_path)
    runner.script = tmp_path / "script"
    runner.environment.update(LD_LIBRARY_PATH=str(library), FAKE_NVML_SCRIPT=str(runner.script))
    for name in ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"):
        runner.environment.pop(name, None)
    return runner


def measured(run, script, seconds="1.5", **env):
    run.script.write_text(script)
    run("run", "-o", run.home / "r.joulery", "--quiet", "--", "sleep", seconds, env=env, check=0)
    return run.report(run.home / "r.joulery")


def row(report, path):
    return next(c for c in report["components"] if c["path"] == path)


def sql(run, query):
    return [line.split(",") for line in run("sql", run.home / "r.joulery", query, check=0).stdout.splitlines()[1:]]


def test_energy_of_a_gpu_is_what_it_burnt(run):
    report = measured(run, H100 + "gpu 0 watts 0 300\n")
    gpu = row(report, "node/gpu/0")
    assert gpu["meter"] == "nvml" and gpu["quality"] == "measured"
    assert gpu["joules"] == pytest.approx(300 * report["duration_s"], abs=300 * 0.25)  # the counter steps each 100 ms


def test_case_21_the_counter_counts_and_a_disagreement_is_told(run):
    """The counter says 37.48 W, the power readings 65.4 W, as in the public report of 187.4 J against 327 J in 5 s."""
    report = measured(run, "gpu 0 watts 0 37.48\ngpu 0 gain 1.745 0\n")
    assert row(report, "node/gpu/0")["joules"] == pytest.approx(37.48 * report["duration_s"], abs=37.48 * 0.25)
    assert any(flag.startswith("sources-disagree") for flag in report["flags"])


def test_case_19_a_module_is_shown_apart(run):
    report = measured(run, H100 + "gpu 0 watts 0 350\ngpu 0 module 250\n")
    gpu, module = row(report, "node/gpu/0"), row(report, "node/module/0")
    assert gpu["joules"] == pytest.approx(350 * report["duration_s"], rel=0.2) and not gpu["overlap"]
    assert module["joules"] == pytest.approx(600 * report["duration_s"], rel=0.2) and module["overlap"]
    assert report["energy"]["joules"] < 400 * report["duration_s"]


def test_a_gpu_lost_and_back_is_a_gap_from_when_to_when(run):
    report = measured(run, H100 + "gpu 0 watts 0 300\ngpu 0 lost 1000 2000\n" + MINE, "4.5")
    gaps = [g for g in report["sampling"]["gaps"] if "node/gpu/0" in g["reason"] and "device lost" in g["reason"]]
    assert gaps and all(g["begin_s"] < g["end_s"] for g in gaps)
    assert not [g for g in report["sampling"]["gaps"] if "node/gpu/1" in g["reason"]]
    lost = sql(run, "SELECT begin_s, end_s, count FROM events WHERE kind='device lost'")
    assert len(lost) == 1 and float(lost[0][0]) < float(lost[0][1]) and int(lost[0][2]) > 1
    # The counter ran on: nothing of it is lost.
    assert row(report, "node/gpu/0")["joules"] == pytest.approx(300 * report["duration_s"], abs=300 * 0.25)


def test_a_driver_loaded_anew_is_a_named_fall_of_the_counter(run):
    report = measured(run, H100 + "gpu 0 watts 0 300\ngpu 0 base 5000000\ngpu 0 reset 1000\n", "2.5")
    assert [f for f in report["flags"] if f.startswith("counter-fell: nvml GPU-aaaa0000-0000") and "energy from 5." in f]
    assert sql(run, "SELECT count(*) FROM events WHERE kind='counter fell'") == [["1"]]
    # Its power tells what the counter lost.
    assert row(report, "node/gpu/0")["joules"] == pytest.approx(300 * report["duration_s"], rel=0.2)


def test_what_a_driver_lacks_is_an_event(run, library):
    run.script.write_text("gpu 0 watts 0 100\n")
    run("run", "-o", run.home / "r.joulery", "--quiet", "--", "true", env={"LD_LIBRARY_PATH": str(library / "old")}, check=0)
    events = sql(run, "SELECT detail FROM events WHERE kind='remark'")
    assert any("nvmlDeviceGetFieldValues" in ",".join(event) for event in events)


def test_processes_of_a_gpu_are_recorded(run):
    measured(run, H100 + "gpu 0 watts 0 300\ngpu 0 process 4711 1024 60 20 0 0\n", "2.5")
    rows = sql(run, "SELECT component, pid, memory, busy FROM device_processes WHERE busy NOT NULL")
    assert rows and rows[0] == ["node/gpu/0", "4711", str(1024 << 20), "0.6"]


def test_a_script_that_changes_while_it_is_read(run):
    run.script.write_text(H100 + "gpu 0 watts 0 300\ngpu 0 clock 1000\n")
    change = f"sleep 0.5; sed -i s/1000$/1500/ {run.script}; sleep 0.7"
    run("run", "-o", run.home / "r.joulery", "--quiet", "--", "bash", "-c", change, check=0)
    assert {float(v) for v, in sql(run, "SELECT DISTINCT value FROM samples WHERE channel='sm_clock'")} == {1e9, 1.5e9}


def test_case_20_the_report_says_which_gpus_the_command_sees(run):
    mig = H100 + "gpu 0 watts 0 300\ngpu 0 mig 3 0 MIG-cccc0000 1024 0\n" + MINE
    flags = measured(run, mig, "0.3", CUDA_VISIBLE_DEVICES="MIG-GPU-aaaa0000-0000/3/0")["flags"]
    assert any(f.startswith("gpus-visible: node/gpu/0 of 2") for f in flags)
    assert any(f.startswith("gpu-shared: node/gpu/0: slice 3/0") for f in flags)
    (run.home / "r.joulery").unlink()
    assert any(f.startswith("gpus-unclear") for f in measured(run, mig, "0.3", CUDA_VISIBLE_DEVICES="0,GPU-bbbb")["flags"])
    (run.home / "r.joulery").unlink()
    assert not [f for f in measured(run, H100 + "gpu 0 watts 0 300\n" + MINE, "0.3")["flags"] if f.startswith("gpu")]


def test_the_doctor_names_gpus_by_uuid_and_bus(run):
    run.script.write_text(H100 + "gpu 0 pci 0:1b:0\ngpu 0 watts 0 300\ngpu 0 mig 3 0 MIG-cccc0000 1024 0\n")
    done = run("doctor", "--json")
    meter = next(m for m in json.loads(done.stdout)["meters"] if m["kind"] == "nvml")
    assert meter["device"] == "GPU-aaaa0000-0000 0000:1b:00.0 NVIDIA H100 80GB HBM3"
    assert meter["readable"] and "slices (3/0)" in meter["reason"]


def test_a_gpu_that_answers_slowly_costs_itself_alone(run):
    """Each call for fields takes a second; the other GPU keeps its rate."""
    report = measured(run, H100 + "gpu 0 watts 0 300\ngpu 0 delay nvmlDeviceGetFieldValues 1000 400 1000000\n" + MINE, "3")
    assert row(report, "node/gpu/1")["joules"] == pytest.approx(100 * report["duration_s"], abs=100 * 0.25)
    slow, fast = (int(sql(run, "SELECT count(*) FROM samples WHERE channel='energy' AND device LIKE 'GPU-" + which + "%'")[0][0])
                  for which in ("aaaa", "bbbb"))
    assert slow < fast / 2
