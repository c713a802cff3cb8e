"""What is measured, as the command of `joulery run`: facts, calls and phases into FOLDER/phases.json, readings into FOLDER/raw.jsonl."""
import ctypes
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import threading
import time

from gpu_check.load import TorchLoad, find_load
from gpu_check.nvml import FIELDS, POWERS, Missing, Nvml, tried


class Poller(threading.Thread):
    """Reads all powers and the counter as fast as it is let, into the raw log."""

    def __init__(self, nvml, log, pause):
        super().__init__(daemon=True)
        self.nvml, self.log, self.pause, self.rows, self.stop = nvml, log, pause, [], threading.Event()

    def run(self):
        powers = [name for name in POWERS if not isinstance(tried(self.nvml.power, name), Missing)]
        while not self.stop.is_set():
            row = {"t": time.monotonic(), **{name: tried(self.nvml.power, name) for name in powers}, "energy": tried(self.nvml.energy)}
            row = {name: value for name, value in row.items() if not isinstance(value, Missing)}
            row["t"] = (row["t"] + time.monotonic()) / 2
            self.rows.append(row)
            time.sleep(self.pause)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.join()
        for row in self.rows:
            self.log.write(json.dumps(row) + "\n")


def time_of_calls(nvml, repeats=50):
    one = {name: [where] for name, where in FIELDS.items()}
    calls = {"nvmlDeviceGetFieldValues, all at once": lambda: nvml.fields(list(FIELDS.values())),
             "nvmlDeviceGetFieldValues, power instant alone": lambda: nvml.fields(one["power instant"]),
             "nvmlDeviceGetTotalEnergyConsumption": nvml.energy, "nvmlDeviceGetPowerUsage": lambda: nvml.power("draw"),
             "nvmlDeviceGetUtilizationRates": nvml.utilisation, "nvmlDeviceGetMemoryInfo_v2": nvml.memory,
             "nvmlDeviceGetClockInfo": lambda: nvml.number("nvmlDeviceGetClockInfo", ctypes.c_int(1)),
             "nvmlDeviceGetCurrentClocksEventReasons": lambda: nvml.number("nvmlDeviceGetCurrentClocksEventReasons", kind=ctypes.c_ulonglong),
             "nvmlDeviceGetComputeRunningProcesses_v3": nvml.processes}
    out = {}
    for name, function in calls.items():
        times = []
        for _ in range(repeats):
            begin = time.perf_counter()
            if isinstance(tried(function), Missing):
                break
            times.append((time.perf_counter() - begin) * 1e6)
        out[name] = [statistics.median(times), sorted(times)[int(len(times) * 0.9)]] if times else None
    return out


# What nvidia-smi calls it, how we read it, and how far the two may be apart: relative, and absolute in the same unit.
BESIDE = [
    ("uuid", lambda n: n.text("nvmlDeviceGetUUID"), None), ("name", lambda n: n.text("nvmlDeviceGetName"), None),
    ("driver_version", lambda n: n.text("nvmlSystemGetDriverVersion", of_device=False), None),
    ("power.draw", lambda n: n.power("draw"), (0.3, 20)), ("power.draw.average", lambda n: n.power("average"), (0.3, 20)),
    ("power.draw.instant", lambda n: n.power("instant"), (0.5, 60)), ("enforced.power.limit", lambda n: n.field(190) * 1e-3, (0, 0.01)),
    ("power.min_limit", lambda n: n.field(187) * 1e-3, (0, 0.01)), ("power.max_limit", lambda n: n.field(188) * 1e-3, (0, 0.01)),
    ("power.default_limit", lambda n: n.field(189) * 1e-3, (0, 0.01)), ("utilization.gpu", lambda n: n.utilisation(), (0, 100)),
    ("memory.used", lambda n: n.memory().used / 2**20, (0.02, 64)), ("memory.reserved", lambda n: n.memory().reserved / 2**20, (0, 16)),
    ("memory.total", lambda n: n.memory().total / 2**20, (0, 1)),
    ("clocks.sm", lambda n: n.number("nvmlDeviceGetClockInfo", ctypes.c_int(1)), (0.5, 600)),
    ("clocks.mem", lambda n: n.number("nvmlDeviceGetClockInfo", ctypes.c_int(2)), (0.5, 600)),
    ("clocks_event_reasons.active", lambda n: n.number("nvmlDeviceGetCurrentClocksEventReasons", kind=ctypes.c_ulonglong), (0, 1 << 40)),
]


def smi_value(text):
    text = text.strip()
    try:
        return int(text, 16) if text.startswith("0x") else float(text)
    except ValueError:
        return text


def beside_nvidia_smi(nvml):
    """Each reading, nvidia-smi's own, and whether they agree: "same", "differ", or why one of them is missing."""
    rows, smi = [], shutil.which("nvidia-smi")
    uuid = nvml.text("nvmlDeviceGetUUID")
    for name, function, near in BESIDE:
        ours = tried(function, nvml)
        theirs = "no nvidia-smi"
        if smi:
            done = subprocess.run([smi, f"--id={uuid}", f"--query-gpu={name}", "--format=csv,noheader,nounits"], capture_output=True, text=True, timeout=60)
            theirs = smi_value(done.stdout.splitlines()[0]) if done.returncode == 0 and done.stdout.strip() else "not known to it"
        if isinstance(ours, Missing):
            verdict = "both missing" if isinstance(theirs, str) else "differ"
        elif near is None:
            verdict = "same" if ours == theirs or ours == str(theirs) else "differ"
        elif isinstance(theirs, str):
            verdict = "no peer"
        else:
            verdict = "same" if abs(ours - theirs) <= near[0] * abs(theirs) + near[1] else "differ"
        rows.append([name, str(ours) if isinstance(ours, Missing) else ours, theirs, verdict])
    return rows


def marks_around_cuda(seconds):
    """Steps of PyTorch work with marks, where both packages are there; how many, or why not."""
    try:
        import joulery
        load, steps, end = TorchLoad(), 0, time.monotonic() + seconds
    except Exception as error:
        return f"not done: {error}"
    while time.monotonic() < end:
        with joulery.step(samples=1):
            load.burn(0.1)
        steps += 1
    return steps


def inside(options):
    """The part that runs as the command of `joulery run`: phases, with their times on the monotonic clock, into FOLDER/phases.json."""
    folder, nvml = pathlib.Path(options.out), Nvml(options.gpu)
    facts = {"gpu": nvml.text("nvmlDeviceGetName"), "uuid": nvml.text("nvmlDeviceGetUUID"), "driver": tried(nvml.text, "nvmlSystemGetDriverVersion", False)}
    facts["fields"] = {name: str(value) if isinstance(value, Missing) else value
                       for name, value in zip(FIELDS, tried(nvml.fields, list(FIELDS.values())) if hasattr(nvml.library, "nvmlDeviceGetFieldValues") else [])}
    facts["calls"] = time_of_calls(nvml)
    facts["beside"] = beside_nvidia_smi(nvml)
    os.environ["CUDA_VISIBLE_DEVICES"] = facts["uuid"]
    phases = []
    with open(folder / "raw.jsonl", "w", encoding="utf-8") as log, Poller(nvml, log, 0.002):
        def phase(name, function):
            begin = time.monotonic()
            function()
            phases.append({"name": name, "begin": begin, "end": time.monotonic()})
        phase("idle", lambda: time.sleep(options.idle))
        time.sleep(1.5)
        load, why = find_load()
        if load:
            load.burn(0.2)
            phase("settle", lambda: time.sleep(1.5))
            phase("duty", lambda: duty(load, options))
            for _ in range(options.steps):
                phase("before step", lambda: time.sleep(2.2))
                phase("step", lambda: load.burn(2.2))
        facts["load"] = load.name if load else f"none: {why}"
        facts["marks"] = marks_around_cuda(3) if load else "not done: no load"
    facts["phases"] = phases
    (folder / "phases.json").write_text(json.dumps(facts, default=str, indent=1), encoding="utf-8")
    return 0


def duty(load, options):
    """Half on, half off, in periods that no sensor's period divides: starts at fixed times, so that the duty is what is asked for."""
    period, begin = 0.33, time.monotonic()
    for n in range(int(options.load / period)):
        wait = begin + n * period - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        load.burn(period / 2)
    time.sleep(max(0.0, begin + int(options.load / period) * period - time.monotonic()))
