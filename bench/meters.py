#!/usr/bin/python3
"""What meters cost: the CPU time of one tick by kind of meter, and of a whole `joulery run` of eight GPUs with all their fields at 10 Hz.

The GPUs are those of the scripted stand-in for NVIDIA's library: what is counted is what joulery does and what the stand-in does, and not
what a driver does. RAPL and the processors are plain files.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import stage
from sampling import cpu_s, end_joulery

GPUS, RUN_S, SETTLED_S = 8, 12, 1
CORE_LIMIT_PERCENT = 1.0
# Every quantity that the meter knows of, and eight processes.
SCRIPT = """gpu {n} name NVIDIA H100 80GB HBM3
gpu {n} watts 0 {watts}
gpu {n} window 1000
gpu {n} instant 25
gpu {n} memory_watts 60
gpu {n} utilisation 87
gpu {n} memory 81559 40000 600
gpu {n} throttle 4
gpu {n} rate 74 250000000
gpu {n} rate 76 0
gpu {n} rate 269 0
gpu {n} rate 270 0
gpu {n} rate 271 0
gpu {n} rate 197 5000000
gpu {n} rate 198 7000000
gpu {n} rate 138/all 100000
gpu {n} rate 139/all 100000
""" + "".join(f"gpu {{n}} gpm {metric} 50\n" for metric in (1, 2, 3, 5, 10, 11, 12, 13, 20, 21, 60, 61)) + "".join(
    f"gpu {{n}} process {pid} 512 10 5 0 0\n" for pid in range(4711, 4719))


def lay(root, files):
    for path, text in files.items():
        file = pathlib.Path(root) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n", encoding="ascii")


def lay_cards(root, folder):
    """A card of each maker on the PCI bus, the scripts of the stand-ins for their libraries, and a board's own sensors."""
    for maker, address, vendor, device, pci_class in (("AMDSMI", "0000:05:00.0", "0x1002", "0x74a1", "0x120000"),
                                                      ("LEVEL_ZERO", "0000:26:00.0", "0x8086", "0x0bd5", "0x038000"),
                                                      ("HLML", "0000:33:00.0", "0x1da3", "0x1020", "0x120000")):
        pci = f"sys/bus/pci/devices/{address}"
        lay(root, {f"{pci}/vendor": vendor, f"{pci}/device": device, f"{pci}/class": pci_class})
        script = pathlib.Path(folder) / maker
        script.write_text(f"card 0 address {address}\ncard 0 name {maker}\ncard 0 watts 0 300\ncard 0 busy 50\ncard 0 memory 65536 1000\n",
                          encoding="ascii")
        os.environ[f"FAKE_{maker}_SCRIPT"] = str(script)
    lay(root, {"sys/class/hwmon/hwmon3/name": "power_meter", "sys/class/hwmon/hwmon3/power1_input": "350000000",
               "sys/class/power_supply/BAT0/type": "Battery", "sys/class/power_supply/BAT0/status": "Discharging",
               "sys/class/power_supply/BAT0/power_now": "12000000",
               "sys/bus/i2c/devices/6-0040/name": "ina3221x", "sys/bus/i2c/devices/6-0040/iio:device0/rail_name_0": "POM_5V_IN",
               "sys/bus/i2c/devices/6-0040/iio:device0/in_power0_input": "4321"})


def network_ticks():
    """Meters over a network, each against a server on loopback; what the server takes is not counted."""
    sys.path.insert(0, str(stage.ROOT / "tests" / "standins"))
    from web_meter import WebMeter  # pylint: disable=import-outside-toplevel
    pages = {"/power": '{"watts": 42}', "/metrics": 'DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-1"} 300\n'}
    with WebMeter(pages) as meter:
        return ticks("", 40, "meters.plug.kind=http-json", f"meters.plug.url={meter.url('/power')}", "meters.plug.pointer=/watts",
                     "meters.gpus.kind=prometheus", f"meters.gpus.url={meter.url('/metrics')}")


def ticks(root, rounds=500, *settings):
    """Median CPU time of a tick by kind: devices, channels of one, microseconds."""
    done = subprocess.run([str(stage.BUILD / "bench" / "ticks_bench"), root, str(rounds), *settings], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"ticks_bench failed: {done.stderr}")
    kinds = {}
    for one in json.loads(done.stdout):
        kinds.setdefault(one["kind"], []).append(one)
    return kinds


def run_of_gpus(tree, folder):
    """Share of one core that a run takes in its settled middle, in per cent; rounds and missed rounds."""
    file = os.path.join(folder, "gpus.joulery")
    words = [stage.JOULERY, "run", "--json", "--interval", "100ms", "--sysroot", tree.root, "-o", file, "--", "sleep", str(RUN_S)]
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    time.sleep(SETTLED_S)
    begin, before = time.monotonic(), cpu_s(child.pid)
    time.sleep(RUN_S - 2 * SETTLED_S)
    share = (cpu_s(child.pid) - before) / (time.monotonic() - begin) * 100
    return share, end_joulery(child, file)


def main():
    library = stage.BUILD / "standins" / "libnvidia-ml.so.1"
    stage.need(stage.JOULERY, library, stage.BUILD / "bench" / "ticks_bench")
    folder = stage.home()
    script = pathlib.Path(folder.name) / "gpus"
    script.write_text("".join(SCRIPT.format(n=n, watts=100 + 50 * n) for n in range(GPUS)), encoding="utf-8")
    os.environ.update(LD_LIBRARY_PATH=str(library.parent), FAKE_NVML_SCRIPT=str(script))
    with stage.Tree(folder.name) as tree:
        driver = pathlib.Path(tree.root) / "proc/driver/nvidia"
        driver.mkdir(parents=True)
        (driver / "version").write_text("stand-in\n", encoding="utf-8")
        priority = stage.undisturbed()
        with stage.Tree(folder.name + "/cards") as cards:
            lay_cards(cards.root, folder.name)
            kinds = ticks(tree.root) | ticks(cards.root)
        in_band = pathlib.Path(folder.name) / "bmc"
        in_band.write_text("dcmi 00dc58010f01e9013f0142cb0c6be803000040\n", encoding="ascii")  # 344 W
        device = stage.BUILD / "standins" / "fake_ipmi_device.so"
        os.environ.update(FAKE_IPMI=str(in_band), LD_PRELOAD=str(device))
        for name, devices in ticks("", 100).items():
            kinds.setdefault(name, devices)
        del os.environ["LD_PRELOAD"], os.environ["FAKE_IPMI"]
        for name, devices in network_ticks().items():
            kinds.setdefault(name, devices)
        rows = [[name, len(devices), devices[0]["channels"], f"{statistics.median(d['us'] for d in devices):.1f}"] for name, devices in kinds.items()]
        stage.table(f"CPU time of one tick of one device, by kind of meter ({priority})", ["kind", "devices", "channels of one", "CPU us"], rows)
        runs = [run_of_gpus(tree, folder.name) for _ in range(3)]
    share, end = statistics.median(r[0] for r in runs), runs[-1][1]
    stage.table(f"{GPUS} GPUs, all fields, 10 Hz, with four RAPL zones: {len(runs)} runs of {RUN_S} s",
                ["% of a core, median", "least", "greatest", "rounds", "missed"],
                [[f"{share:.2f}", f"{min(r[0] for r in runs):.2f}", f"{max(r[0] for r in runs):.2f}", end["rounds"], end["missed"]]])
    stage.tell([stage.result(f"{GPUS} stand-in GPUs, all fields, at 10 Hz", f"{share:.2f} % of a core", f"<= {CORE_LIMIT_PERCENT:g} %",
                             share <= CORE_LIMIT_PERCENT),
                stage.result("a tick of one GPU with all fields", f"{statistics.median(d['us'] for d in kinds['nvml']):.1f} us")])


if __name__ == "__main__":
    main()
