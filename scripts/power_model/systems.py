"""The measured systems: SPECpower_ssj2008 results as rows of what a running machine would know, with their watts."""
import csv
import random
from dataclasses import dataclass, field

import numpy as np

from .names import Families, plain, read_tdp

LEVELS = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]


@dataclass
class Systems:
    """One row per result; watts has 11 columns, of which only the first and the last are known where `levels` is false."""
    cpu: list = field(default_factory=list)
    family: list = field(default_factory=list)
    known: list = field(default_factory=list)  # year, class, tdp per chip, chips, cores, threads, memory GB
    watts: list = field(default_factory=list)
    levels: list = field(default_factory=list)

    def add(self, cpu, rule, known, watts, levels):
        family, year, market = rule
        self.cpu.append(cpu)
        self.family.append(family)
        self.known.append([year, market, *known])
        self.watts.append(watts)
        self.levels.append(levels)

    def frozen(self):
        return Systems(np.array(self.cpu), np.array(self.family), np.array(self.known, float),
                       np.array(self.watts, float), np.array(self.levels, bool))

    def where(self, mask):
        return Systems(self.cpu[mask], self.family[mask], self.known[mask], self.watts[mask], self.levels[mask])

    def __len__(self):
        return len(self.cpu)


def read(folder):
    """`folder` holds spec/, ccf/ and codecarbon/. Returns the systems with all levels first, then those with idle and
    maximum alone that are not among the first; and notes on what was left out."""
    families, tdp_table = Families(), read_tdp(f"{folder}/codecarbon/cpu_power.csv")
    systems, seen, notes = Systems(), set(), {"without family": [], "without TDP": [], "idle not below maximum": []}
    with open(f"{folder}/spec/specpower-load-levels.csv", encoding="utf-8") as f:
        for r in csv.DictReader(f):
            watts = [float(r["w_idle"])] + [float(r[f"w{u}"]) for u in LEVELS[1:]]
            rule = families.of(r["cpu"])
            if rule is None:
                raise SystemExit(f"no family for {r['cpu']}: add it to data/cpu_families.csv")
            known = [float(r[c]) for c in ("tdp_w_per_chip", "chips", "cores", "threads", "mem_gb")]
            systems.add(r["cpu"], rule, known, watts, True)
            seen.add((r["cpu"], watts[0], watts[-1]))
    with open(f"{folder}/ccf/SPECpower-2026-03-09.csv", encoding="utf-8") as f:
        for r in csv.DictReader(f):
            _add_endpoints(systems, r, seen, families, tdp_table, notes)
    return systems.frozen(), notes


def _add_endpoints(systems, r, seen, families, tdp_table, notes):
    cpu = plain(r["CPU Description"])
    try:
        idle, full = float(r["avg. watts @ active idle"]), float(r["avg. watts @ 100%"])
        known = [float(r[c]) for c in ("Chips", "# Cores", "Total Threads", "Total Memory (GB)")]
    except ValueError:
        return
    if (cpu, idle, full) in seen:
        return
    rule, tdp = families.of(cpu), tdp_table.get(cpu)
    if rule is None:
        notes["without family"].append(cpu)
    elif tdp is None:
        notes["without TDP"].append(cpu)
    elif not 0 < idle < full:
        notes["idle not below maximum"].append(cpu)
    else:
        nan = float("nan")
        systems.add(cpu, rule, [tdp, *known], [idle] + [nan] * 9 + [full], False)


def folds(systems, seed, count=10):
    """The fold of each row: whole processor models are held out together. Those with whole curves are dealt first."""
    dealer, fold = random.Random(seed), {}
    for names in (set(systems.cpu[systems.levels]), set(systems.cpu) - set(systems.cpu[systems.levels])):
        order = sorted(names)
        dealer.shuffle(order)
        fold |= {name: i % count for i, name in enumerate(order)}
    return np.array([fold[c] for c in systems.cpu])
