#!/usr/bin/python3
"""How near the truth: a 10-second load under the fake RAPL, measured by joulery and by each peer in turn. Truth is the
model's own counter over the load, read by the load itself as the first and the last thing it does.
"""
import json
import os
import subprocess
import sys

import stage

SECONDS, STEPS = "10", "5"
LIMIT_PERCENT = 0.5
PEERS = ["pyRAPL", "pyJoules", "Zeus", "CodeCarbon"]
KNOWN = {"pyRAPL": "none given", "pyJoules": "none given", "Zeus": "none given", "CodeCarbon": "none given"}
NOTES = {"Zeus": "psys is told as a second CPU package", "CodeCarbon": "memory is modelled, not read"}


def true_joules(file):
    joules = json.loads(open(file, encoding="ascii").read())["joules"]
    return joules["intel-rapl:0 package-0"], joules["intel-rapl:0:2 dram"]


def error(says, truth):
    return f"{(says / truth - 1) * 100:+.2f} %"


def joulery(folder):
    out = os.path.join(folder, "joulery.json")
    words = [stage.WITH_RAPL, "--", stage.JOULERY, "run", "--no-save", "--json", "--", stage.LOAD, SECONDS, STEPS, out]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"joulery failed: {done.stderr}")
    rows = {c["path"]: c for c in stage.json_in(done.stderr)["components"]}
    package, dram = rows["node/cpu/package-0"], rows["node/dram/package-0"]
    known = f"90 %: {package['low']:.1f} .. {package['high']:.1f} J"
    return {"package": package["joules"], "dram": dram["joules"]}, true_joules(out), known


def peer(name, folder):
    out = os.path.join(folder, f"{name}.json")
    words = [stage.WITH_RAPL, "--", str(stage.PEERS), str(stage.ROOT / "bench" / "peer_window.py"), name, stage.LOAD, SECONDS, STEPS, out]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        return None
    seen = stage.json_in(done.stdout)
    return seen["says"], true_joules(out), seen["window"]["package-0"]


def main():
    stage.need(stage.JOULERY, stage.PEERS, stage.LOAD)
    folder = stage.home()
    priority = stage.undisturbed()
    says, (package, dram), known = joulery(folder.name)
    worst = max(abs(says["package"] / package - 1), abs(says["dram"] / dram - 1)) * 100
    rows = [["joulery run", f"{package:.2f}", f"{says['package']:.2f}", error(says["package"], package), f"{dram:.2f}", f"{says['dram']:.2f}",
             error(says["dram"], dram), known, ""]]
    for name in PEERS:
        seen = peer(name, folder.name)
        if seen is None:
            rows.append([name, *["-"] * 6, "", "did not run"])
            continue
        says, (package, dram), window = seen
        note = NOTES.get(name, "")
        if abs(window / package - 1) > 0.02:
            note += f"; its own window burnt {window:.1f} J"
        rows.append([name, f"{package:.2f}", f"{says['package']:.2f}", error(says["package"], package), f"{dram:.2f}", f"{says['dram']:.2f}",
                     error(says["dram"], dram), KNOWN[name], note.lstrip("; ")])
    stage.table(f"Truth: a {SECONDS} s load on one core in {STEPS} steps, each tool in turn ({priority}, but for the burning itself)",
                ["tool", "package J, true", "says", "error", "DRAM J, true", "says", "error", "uncertainty given", "note"], rows)
    stage.tell([stage.result("error over the 10 s load, the worse of package and DRAM", f"{worst:.2f} %", f"<= {LIMIT_PERCENT} %", worst <= LIMIT_PERCENT)])


if __name__ == "__main__":
    main()
