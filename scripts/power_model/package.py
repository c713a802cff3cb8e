"""Package power per TDP from utilisation, from CodeCarbon's load profiles (RAPL on four processors, MIT)."""
import csv
import glob
import os

import numpy as np

from .systems import LEVELS

# What a file's name holds -> TDP of all packages of that machine in watts (makers' figures).
MACHINES = {"EPYC_8024P": 90, "1950X": 180, "E3-1240__": 69, "E5-2620": 2 * 85}
# E5-1240__*: the processor inside is the E3-1240 V2 once more, with a counter that reads 1.9 times as much, above its TDP
# (package and core zones added): left out.
WIDEN = 1.15  # four processors are too few for a quantile: the envelope of the curves, this much wider
# Idle rows read 0.2 to 1.4 W on every machine: a package whose uncore is on does not go that low, so idle is half of 10 %.
IDLE_OF_TEN = 0.5


def curves(folder):
    """machine -> its curves (one per way of loading), watts per TDP at 10..100 %."""
    out = {}
    for path in sorted(glob.glob(f"{folder}/codecarbon/cpu_load_profiling/*.csv")):
        for key, tdp in MACHINES.items():
            if key in os.path.basename(path):
                with open(path, encoding="utf-8") as f:
                    points = sorted((float(r["cpu_load"]), float(r["rapl_power"]) / tdp) for r in csv.DictReader(f))
                load, power = np.array(points[1:]).T
                out.setdefault(key, []).append(np.interp(LEVELS[1:], load, power))
    return out


def learn(folder):
    """[(level, (watts per TDP, low, high))]; none falls with utilisation."""
    by_machine = curves(folder)
    everything = np.array([c for several in by_machine.values() for c in several])
    value = np.median([np.mean(c, 0) for c in by_machine.values()], 0)
    low, high = everything.min(0) / WIDEN, everything.max(0) * WIDEN
    table = np.column_stack([value, low, high])
    table = np.vstack([[table[0, 0] * IDLE_OF_TEN, 0.01, table[0, 2]], table])
    return list(zip(LEVELS, np.round(np.maximum.accumulate(table, 0), 3))), len(by_machine)
