"""One peer sampling as fine as asked, run by sampling.py with the peers' Python on a machine whose RAPL is laid under
/sys. Prints {"samples":…, "cpu_s":…, "rss_mb":…} for the loop alone: imports and set-up are not counted.

    peer_loop.py NAME INTERVAL_S SECONDS
"""
import json
import os
import sys
import time


def ticks_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[1]), int(fields[11]) + int(fields[12])


def descendants(root):
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                parents[int(name)] = ticks_of(name)[0]
            except (FileNotFoundError, ProcessLookupError):
                pass
    found, grown = {root}, True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        found |= more
        grown = bool(more)
    return found - {root}


def tree_cpu_s():
    """CPU seconds of this process (exact) and of its children (in clock ticks)."""
    total = time.process_time()
    for pid in descendants(os.getpid()):
        try:
            total += ticks_of(pid)[1] / os.sysconf("SC_CLK_TCK")
        except (FileNotFoundError, ProcessLookupError):
            pass
    return total


def tree_rss_mb():
    total = 0
    for pid in {os.getpid()} | descendants(os.getpid()):
        try:
            with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
                total += next((int(line.split()[1]) for line in file if line.startswith("VmRSS")), 0)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return total / 1024


def paced(interval, seconds, sample):
    """Calls `sample` at absolute deadlines; a late one is not made up for. Returns how many were taken."""
    deadline, end, count = time.monotonic(), time.monotonic() + seconds, 0
    while deadline < end:
        time.sleep(max(0.0, deadline - time.monotonic()))
        sample()
        count += 1
        deadline = max(deadline + interval, time.monotonic())
    return count


def pyrapl(interval, seconds):
    import pyRAPL
    pyRAPL.setup()

    def sample():
        measurement = pyRAPL.Measurement("sample")
        measurement.begin()
        measurement.end()
        return measurement.result
    return lambda: paced(interval, seconds, sample)


def pyjoules(interval, seconds):
    from pyJoules.device import DeviceFactory
    from pyJoules.energy_meter import EnergyMeter
    meter = EnergyMeter(DeviceFactory.create_devices())

    def loop():
        meter.start(tag="sample")
        count = paced(interval, seconds, lambda: meter.record(tag="sample"))
        meter.stop()
        return count
    return loop


def zeus(interval, seconds):
    from zeus.monitor import ZeusMonitor
    monitor = ZeusMonitor(gpu_indices=[])

    def sample():
        monitor.begin_window("sample")
        monitor.end_window("sample")
    return lambda: paced(interval, seconds, sample)


def codecarbon(interval, seconds):
    from codecarbon import OfflineEmissionsTracker
    tracker = OfflineEmissionsTracker(country_iso_code="FRA", measure_power_secs=interval, save_to_file=False, log_level="critical",
                                      tracking_mode="machine", allow_multiple_runs=True)
    count = [0]
    inner = tracker._do_measurements

    def counted(*words, **named):
        count[0] += 1
        return inner(*words, **named)
    tracker._do_measurements = counted

    def loop():
        tracker.start()
        time.sleep(seconds)
        tracker.stop()
        return count[0]
    return loop


def main():
    name, interval, seconds = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    loop = {"pyRAPL": pyrapl, "pyJoules": pyjoules, "Zeus": zeus, "CodeCarbon": codecarbon}[name](interval, seconds)
    begin = tree_cpu_s()
    samples = loop()
    print("\n" + json.dumps({"samples": samples, "cpu_s": tree_cpu_s() - begin, "rss_mb": tree_rss_mb()}))


if __name__ == "__main__":
    main()
