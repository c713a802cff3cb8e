"""What the table says of one machine: the same rules as src/factors/power_model.cpp, written for the check between both."""
import csv
from dataclasses import dataclass

import numpy as np

from . import features as F
from . import model as M
from .names import DATA, Families, plain
from .systems import Systems
from .table import read

DEFAULT_YEAR, DEFAULT_CLASS = 2019, 2
VM_SPREAD = np.log(1.5)  # nobody measured it: neighbours and the host's size are unknown to the guest


@dataclass
class Identity:
    name: str = ""
    vendor: str = ""
    family: int = 0
    model: int = 0
    stepping: int = 0
    sockets: int = 0
    cores: int = 0
    threads: int = 0
    memory_gb: float = 0.0
    virtual: bool = False
    tdp: float = 0.0  # given by the user
    idle: float = 0.0
    half: float = 0.0
    full: float = 0.0


def _csv(name):
    with open(DATA / name, encoding="utf-8") as f:
        return list(csv.DictReader(x for x in f if not x.startswith("#")))


class Tables:
    def __init__(self, path):
        self.model, self.package, self.memory = read(path)
        self.names, self.tdp = Families(), {r["name"]: float(r["tdp"]) for r in _csv("cpu_tdp.csv")}
        self.ids = _csv("cpu_ids.csv")

    def rule(self, i):
        found = self.names.of(plain(i.name))
        if found:
            return found
        for r in self.ids:
            if (r["vendor"] == i.vendor and int(r["cpu_family"]) == i.family and i.stepping >= int(r["stepping_low"])
                    and int(r["model_low"]) <= i.model <= int(r["model_high"])):
                return r["family"], int(r["year"]), int(r["class"])
        return "", DEFAULT_YEAR, DEFAULT_CLASS

    def known(self, i, family, year, market):
        """(year, class, tdp, chips, cores, threads, memory) and whether the TDP is known; of the host for a guest."""
        host = self.model.typical.get(family, self.model.typical[""])
        threads_per_core = host[3]
        if i.virtual:
            chips, cores = host[1], host[1] * host[2]
            threads = cores * threads_per_core
            if i.threads > threads:
                chips, cores, threads = chips * i.threads / threads, cores * i.threads / threads, i.threads
            memory = host[4] * cores
        else:
            chips = i.sockets or 1
            threads = i.threads or (i.cores * threads_per_core if i.cores else chips * host[2] * threads_per_core)
            cores = i.cores or max(1.0, threads / threads_per_core)
            threads = max(threads, cores)
            memory = i.memory_gb or host[4] * cores
        tdp = i.tdp or self.tdp.get(plain(i.name), 0.0)
        sure = tdp > 0 and (not i.virtual or i.tdp > 0 or plain(i.name) in self.tdp)
        return [year, market, tdp or host[5] * cores / chips, chips, cores, threads, memory], sure

    def mode(self, i, family, tdp_sure):
        if i.full:
            return "three_points" if i.half else "two_points"
        measured = self.model.family_counts.get(family)
        if not measured:
            return "no_family" if tdp_sure else "neither"
        if not np.any(self.model.family_shape[family]):
            return "new_family" if tdp_sure else "neither"
        return "a_priori" if tdp_sure else "no_tdp"


def node(t, i):
    """(mode, 11 x (watts, low, high)) of the whole machine, or of the guest within its host."""
    family, year, market = t.rule(i)
    known, tdp_sure = t.known(i, family, year, market)
    mode = t.mode(i, family, tdp_sure)
    band = t.model.bands[mode]
    known = np.array([known], float)
    s = Systems(np.array([""]), np.array([family]), known, np.array([[i.idle] + [0.0] * 4 + [i.half] + [0.0] * 4 + [i.full]]),
                  np.array([True]))
    if i.full:
        value = (M.three_points if i.half else M.two_points)(t.model, s)[0]
        f = (value - i.idle) / (i.full - i.idle)
        low, high = [i.idle + (i.full - i.idle) * np.clip(f + band[:, c], 0, 1) for c in (0, 1)]
        if i.half:
            low[:5], high[:5] = np.minimum(low[:5], i.half), np.minimum(high[:5], i.half)
            low[6:], high[6:] = np.maximum(low[6:], i.half), np.maximum(high[6:], i.half)
    else:
        value = M.a_priori(t.model, s)[0]
        spread = VM_SPREAD if i.virtual else 0.0
        low, high = value * np.exp(band[:, 0] - spread), value * np.exp(band[:, 1] + spread)
    low, high = np.maximum.accumulate(low), np.maximum.accumulate(high)
    out = np.column_stack([value, np.minimum(low, value), np.maximum(high, value)])
    return mode, guest(t, i, known[0], out) if i.virtual else out


def guest(t, i, host, watts):
    """The guest's part of `watts` of its host: by threads of what is not memory, and all of its own memory."""
    share = min(1.0, i.threads / host[F.THREADS])
    memory_gb = i.memory_gb or share * host[F.MEMORY]

    def part(whole, per_gb):
        return share * np.maximum(whole - per_gb * host[F.MEMORY], 0) + per_gb * memory_gb

    per_gb, *extremes = t.memory
    middle, by_host = part(watts[:, 0], per_gb), part(watts, per_gb)
    by_memory = np.column_stack([middle] + [part(watts[:, 0], x) for x in extremes])
    below = np.sqrt((middle - by_host[:, 1]) ** 2 + (middle - by_memory.min(axis=1)) ** 2)
    above = np.sqrt((by_host[:, 2] - middle) ** 2 + (by_memory.max(axis=1) - middle) ** 2)
    low, high = np.maximum.accumulate(np.maximum(middle - below, 0)), np.maximum.accumulate(middle + above)
    return np.minimum(np.column_stack([middle, np.minimum(low, middle), high]), host[F.TDP] * host[F.CHIPS])
