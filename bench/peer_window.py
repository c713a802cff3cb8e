"""One peer measuring one load, run by truth.py under the fake RAPL. Prints what the peer says, in joules, and what the
model's own counters say of the load alone and of the peer's whole window.

    peer_window.py NAME LOAD_PROGRAM SECONDS STEPS OUT.json
"""
import json
import os
import subprocess
import sys


def truth():
    """Joules of each zone since the model began."""
    with open(os.environ["RAPL_TRUTH"], encoding="ascii") as file:
        lines = file.read().splitlines()[1:]
    return {name: int(value) * 1e-6 for _, name, value in map(str.split, lines)}


def pyrapl():
    import pyRAPL
    pyRAPL.setup()
    measurement = pyRAPL.Measurement("load")

    def end():
        measurement.end()
        return {"package": measurement.result.pkg[0] * 1e-6, "dram": measurement.result.dram[0] * 1e-6}
    return measurement.begin, end


def pyjoules():
    from pyJoules.device import DeviceFactory
    from pyJoules.energy_meter import EnergyMeter
    meter = EnergyMeter(DeviceFactory.create_devices())

    def end():
        meter.stop()
        energy = meter.get_trace()[0].energy
        return {"package": energy["package_0"] * 1e-6, "dram": energy["dram_0"] * 1e-6}
    return meter.start, end


def zeus():
    from zeus.monitor import ZeusMonitor
    monitor = ZeusMonitor(gpu_indices=[])

    def end():
        window = monitor.end_window("load")
        packages = dict(window.cpu_energy)
        return {"package": packages.pop(0), "dram": window.dram_energy[0], "also": sum(packages.values())}
    return lambda: monitor.begin_window("load"), end


def codecarbon():
    from codecarbon import OfflineEmissionsTracker
    tracker = OfflineEmissionsTracker(country_iso_code="FRA", measure_power_secs=1, save_to_file=False, log_level="critical",
                                      tracking_mode="machine", allow_multiple_runs=True)

    def end():
        tracker.stop()
        data = tracker.final_emissions_data
        return {"package": data.cpu_energy * 3.6e6, "dram": data.ram_energy * 3.6e6}
    return tracker.start, end


def main():
    name, load = sys.argv[1], sys.argv[2:]
    begin, end = {"pyRAPL": pyrapl, "pyJoules": pyjoules, "Zeus": zeus, "CodeCarbon": codecarbon}[name]()
    opened = truth()
    begin()
    subprocess.run(load, check=True)
    says = end()
    closed = truth()
    print("\n" + json.dumps({"says": says, "window": {zone: closed[zone] - opened[zone] for zone in closed}}))


if __name__ == "__main__":
    main()
