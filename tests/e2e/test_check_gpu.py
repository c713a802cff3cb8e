# scripts/test: serial timeout=300
"""scripts/check_gpu, which checks joulery on a real GPU, proved on stand-ins of the driver's library, of CUDA's and of nvidia-smi."""
import os
import re
import subprocess
import sys
import time

import pytest

from conftest import ROOT, STANDINS, built, clean_environment

SCRIPT = """origin {origin:.3f}
driver 550.54.15
gpu 0 name NVIDIA H100 80GB HBM3
gpu 0 uuid GPU-aaaa0000-0000
gpu 0 window 1000
gpu 0 instant 25
gpu 0 memory 81559 512 600
gpu 0 watts 0 80
"""


def check(joulery, folder, extra="", **environment):
    if built("standins/libnvidia-ml.so.1") is None or built("standins/cuda/libcuda.so.1") is None:
        pytest.fail("the stand-ins are not built: cmake --build --preset dev")
    tools = folder / "bin"
    tools.mkdir()
    (tools / "nvidia-smi").symlink_to(STANDINS / "fake_nvidia_smi")
    (folder / "script").write_text(SCRIPT.format(origin=time.monotonic() * 1e3 - 2000) + extra)
    libraries = f"{built('standins/libnvidia-ml.so.1').parent}:{built('standins/cuda/libcuda.so.1').parent}"
    env = {**clean_environment(folder), "LD_LIBRARY_PATH": libraries, "FAKE_NVML_SCRIPT": str(folder / "script"),
           "PATH": f"{tools}:{os.environ['PATH']}", **environment}
    return subprocess.run([sys.executable, ROOT / "scripts" / "check_gpu", "--joulery", joulery, "--out", folder / "out", "--idle", "3",
                           "--load", "6", "--steps", "2"], env=env, capture_output=True, text=True, timeout=200)


def number(text, row, column):
    """The column-th figure of the first line that begins with `row`."""
    line = next(line for line in text.splitlines() if line.startswith(row))
    return float(re.findall(r"-?\d+\.?\d*", line[len(row):])[column])


@pytest.fixture(scope="module")
def done(joulery, tmp_path_factory):
    folder = tmp_path_factory.mktemp("check")
    done = check(joulery, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    done.folder = folder / "out"
    return done


def test_keeps_its_table_its_log_and_the_recording(done):
    assert {f.name for f in done.folder.iterdir()} >= {"table.txt", "raw.jsonl", "phases.json", "check_gpu.joulery"}
    assert (done.folder / "table.txt").read_text() in done.stdout


def test_every_reading_stands_beside_nvidia_smis(done):
    for name in ("uuid", "power.draw", "power.draw.average", "power.draw.instant", "memory.reserved", "enforced.power.limit", "clocks.sm"):
        assert next(line for line in done.stdout.splitlines() if line.startswith(name + " ")).endswith("same")


def test_finds_update_period_and_window(done):
    """The stand-in updates each 100 ms, and its average is that of a second."""
    assert number(done.stdout, "average ", 0) == pytest.approx(100, abs=15)
    assert number(done.stdout, "average ", 1) == pytest.approx(1000, rel=0.25)
    assert number(done.stdout, "instant ", 1) < 300


def test_counter_and_integral_agree_over_idle_and_load(done):
    """80 W idle; half of the time 500 W: 290 W."""
    assert number(done.stdout, "idle ", 1) == pytest.approx(80 * number(done.stdout, "idle ", 0), rel=0.05)
    duty_s, counter, average = (number(done.stdout, "duty ", n) for n in (0, 1, 4))
    assert counter == pytest.approx(290 * duty_s, rel=0.1)
    assert average == pytest.approx(counter, rel=0.08)
    assert "joulery's recording, energy:" in done.stdout


def test_times_each_call(done):
    assert number(done.stdout, "nvmlDeviceGetPowerUsage", 0) > 0


def test_a_difference_from_nvidia_smi_is_found(joulery, tmp_path):
    done = check(joulery, tmp_path, FAKE_SMI_LIE="memory.used")
    assert done.returncode == 1
    assert next(line for line in done.stdout.splitlines() if line.startswith("memory.used")).endswith("differ")


def test_says_where_there_is_no_gpu(joulery, tmp_path):
    env = {**clean_environment(tmp_path), "LD_LIBRARY_PATH": str(built("standins/libnvidia-ml.so.1").parent)}
    (tmp_path / "script").write_text("return nvmlInit_v2 9\n")
    done = subprocess.run([sys.executable, ROOT / "scripts" / "check_gpu", "--joulery", joulery, "--out", tmp_path / "out"],
                          env={**env, "FAKE_NVML_SCRIPT": str(tmp_path / "script")}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 77 and "no NVIDIA GPU" in done.stderr
