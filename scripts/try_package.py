"""scripts/try_package.py COMMAND: an installed joulery, as a newcomer uses it. Exits with 1 and a line where it does not work."""

import json
import subprocess
import sys
import tempfile

import joulery

MARKED = """
import joulery
assert joulery.active()
for batch in joulery.steps(range(5), samples=8):
    sum(range(20000))
joulery.kpi("accuracy", 0.93)
"""


def main(command):
    version = subprocess.run([command, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    with tempfile.NamedTemporaryFile() as summary:
        run = [command, "run", "--no-save", "--json", "--summary", summary.name, "--", sys.executable, "-c", MARKED]
        done = subprocess.run(run, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"joulery run gave {done.returncode}: {done.stderr}")
        with open(summary.name, encoding="utf-8") as file:
            report = json.load(file)
    if report["steps"]["count"] != 5 or report["steps"]["marks_lost"] != 0:
        raise SystemExit(f"5 steps were marked, the report has {report['steps']}")
    with joulery.measure("nothing") as measurement:
        pass
    if not measurement.seconds > 0 or (measurement.joules is None) != (measurement.quality == "missing"):
        raise SystemExit(f"joulery.measure() gave {measurement.to_json()}")
    from joulery import codecarbon, trackers  # what needs no framework; the others are named and not imported
    if joulery.energy().joules is not None or not {"keras", "torch"} <= set(dir(joulery)) or "torch" in sys.modules:
        raise SystemExit("joulery.energy() knows something though nobody measures, or the hooks are missing or loaded")
    if not codecarbon.EmissionsTracker or trackers.resolve(None) != []:
        raise SystemExit("joulery.codecarbon or joulery.trackers does not work")
    print(f"{version} works with Python {sys.version.split()[0]} ({joulery.__file__})")


main(sys.argv[1])
