"""Held-out errors and the 90 % interval. Whole processor models are held out (10 folds); the interval and the shift
towards the least relative error are taken from the held-out residuals of the other folds, so that nothing is judged by
itself (cross-conformal)."""
import os
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from . import features as F
from . import model as M
from .systems import Systems, folds

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
LOW, HIGH = 0.05, 0.95
DEFAULT_YEAR, DEFAULT_CLASS, MODERN = 2019, 2, 2011
# new_family: TDP and family known, but of the family only idle and full load were ever measured.
MODES = ["a_priori", "no_tdp", "no_family", "neither", "two_points", "three_points"]


def typical_hosts(systems):
    """family -> medians (tdp per chip, chips, cores per chip, threads per core, GB per core, W of TDP per core); "" of all
    since MODERN. The TDP of an unknown chip of the family is its cores times the last."""
    k = systems.known
    per = np.column_stack([k[:, F.TDP], k[:, F.CHIPS], k[:, F.CORES] / k[:, F.CHIPS], k[:, F.THREADS] / k[:, F.CORES],
                           k[:, F.MEMORY] / k[:, F.CORES], k[:, F.TDP] / (k[:, F.CORES] / k[:, F.CHIPS])])
    table = {f: np.round(np.median(per[systems.family == f], 0), 3) for f in sorted(set(systems.family))}
    table[""] = np.round(np.median(per[k[:, F.YEAR] >= MODERN], 0), 3)
    return table


def tdp_guess(systems):
    """(1, low, high): by which factor a TDP guessed from the cores of a chip is off, each processor guessed by the others."""
    first = np.array([int(np.flatnonzero(systems.cpu == c)[0]) for c in sorted(set(systems.cpu))])
    one_each = systems.where(first)
    off = []
    for i in range(len(one_each)):
        others = typical_hosts(one_each.where(np.arange(len(one_each)) != i))
        here = one_each.where(np.arange(len(one_each)) == i)
        guess = blinded(here, others, False, True).known[0, F.TDP]
        off.append(np.log(here.known[0, F.TDP] / guess))
    low, high = np.exp(np.quantile(off, [LOW, HIGH]))
    return 1.0, round(float(min(low, 1)), 3), round(float(max(high, 1)), 3)


def blinded(systems, typical, tdp, family):
    """The same systems as seen by one who knows not the TDP, or not the family, or neither."""
    known, names = systems.known.copy(), systems.family.copy()
    if not family:
        names[:] = ""
        known[:, F.YEAR], known[:, F.CLASS] = DEFAULT_YEAR, DEFAULT_CLASS
    if not tdp:
        per_core = np.array([typical.get(f, typical[""])[5] for f in names])
        known[:, F.TDP] = per_core * known[:, F.CORES] / known[:, F.CHIPS]
    return Systems(systems.cpu, names, known, systems.watts, systems.levels)


def _held_out(args):
    systems, fold, k = args
    model = M.fit(systems.where(fold != k))
    typical = typical_hosts(systems.where(fold != k))
    test = systems.where(fold == k)
    seen = {"a_priori": test, "no_tdp": blinded(test, typical, False, True), "no_family": blinded(test, typical, True, False),
            "neither": blinded(test, typical, False, False)}
    return model, {mode: M.ends(model, s) for mode, s in seen.items()}, seen


def held_out(systems, seed, workers=2):
    fold = folds(systems, seed)
    with ProcessPoolExecutor(workers) as pool:
        return fold, list(pool.map(_held_out, [(systems, fold, k) for k in range(10)]))


def best_shift(log_predicted, watts):
    """What to take off log(idle) and log(full) for the least mean relative error."""
    grid = np.arange(-0.1, 0.2001, 0.005)
    errors = [np.abs(np.exp(log_predicted - g) / watts - 1).mean(0) for g in grid]
    return np.round(grid[np.argmin(errors, 0)], 4)


def curves(fold, results, systems, shift_of):
    """Held-out watts of every mode; `shift_of(k)` is the shift that fold k may use."""
    out = {mode: np.full(systems.watts.shape, np.nan) for mode in MODES}
    for k, (model, _, seen) in enumerate(results):
        model.shift, at = shift_of(k), fold == k
        for mode in MODES[:4]:
            out[mode][at] = M.a_priori(model, seen[mode])
        out["two_points"][at] = M.two_points(model, seen["a_priori"])
        out["three_points"][at] = M.three_points(model, seen["a_priori"])
    return out


def residuals(mode, predicted, watts):
    """In the terms of the interval: of log watts without calibration, else in parts of the span from idle to maximum."""
    if mode in ("two_points", "three_points"):
        return (watts - predicted) / (watts[:, -1:] - watts[:, :1])
    return np.log(watts / predicted)


def usable(mode, systems):
    """A machine whose processor nobody knows is not one of before MODERN."""
    return systems.levels & ((mode not in ("no_family", "neither")) | (systems.known[:, F.YEAR] >= MODERN))


def band(mode, residual):
    low, high = np.quantile(residual, [LOW, HIGH], axis=0)
    if mode not in ("two_points", "three_points"):
        low, high = np.minimum(low, -0.01), np.maximum(high, 0.01)
    return np.round(np.column_stack([low, high]), 4)


def figures(predicted, watts):
    e = np.abs(predicted / watts - 1) * 100
    return dict(mape=e.mean(), median=np.median(e), p95=np.quantile(e, .95), max=e.max(), idle=e[:, 0].mean(),
                half=e[:, 5].mean(), full=e[:, 10].mean())


INTERIOR = {"two_points": [1, 2, 3, 4, 5, 6, 7, 8, 9], "three_points": [1, 2, 3, 4, 6, 7, 8, 9]}


def evaluate(systems, seed):
    """mode -> figures, with the share of held-out levels inside the interval (points that were given do not count)."""
    fold, results = held_out(systems, seed)
    ends = np.full((len(systems), 2), np.nan)
    for k, (_, e, _) in enumerate(results):
        ends[fold == k] = e["a_priori"]
    use, target = systems.levels, systems.watts[:, [0, -1]]
    shifts = [best_shift(ends[use & (fold != k)], target[use & (fold != k)]) for k in range(10)]
    predicted = curves(fold, results, systems, lambda k: shifts[k])
    out = {}
    for mode in MODES:
        at = usable(mode, systems)
        r = residuals(mode, predicted[mode], systems.watts)
        out[mode] = figures(predicted[mode][at], systems.watts[at])
        inside = []
        for k in range(10):
            b = band(mode, r[at & (fold != k)])
            here = r[at & (fold == k)]
            inside.append((here >= b[:, 0] - 1e-12) & (here <= b[:, 1] + 1e-12))
        inside = np.concatenate(inside)[:, INTERIOR.get(mode, list(range(11)))]
        out[mode]["coverage"] = inside.mean() * 100
        out[mode]["coverage_levels"] = inside.mean(0) * 100
    out["new_families"] = _new_families(predicted, systems, fold, residuals("a_priori", predicted["a_priori"], systems.watts))
    return out, (fold, results, ends, predicted)


def _new_families(predicted, systems, fold, r):
    """Processors that came out after those whose whole curve is known: idle and full load alone."""
    at = new_families(systems)
    e = np.abs(np.exp(-r[at][:, [0, -1]]) - 1) * 100
    inside = []
    for k in range(10):
        b, here = new_family_band(r[at & (fold != k)]), r[at & (fold == k)]
        inside += [((here >= b[:, 0]) & (here <= b[:, 1]))[:, [0, -1]]]
    inside = np.concatenate(inside)
    return dict(systems=int(at.sum()), cpus=len(set(systems.cpu[at])), idle=e[:, 0].mean(), full=e[:, 1].mean(),
                coverage=inside.mean() * 100)


def new_families(systems):
    return systems.known[:, F.YEAR] > F.YEAR_HIGH


def new_family_band(r):
    """From idle and full load; between them a straight line."""
    ends_band = band("a_priori", r[:, [0, -1]])
    return np.round(ends_band[0] + (ends_band[1] - ends_band[0]) * np.linspace(0, 1, 11)[:, None], 4)


def learn(systems, seed):
    """The model that ships: learnt from everything, with shift and bands from the held-out residuals of one seed."""
    _, (fold, results, ends, _) = evaluate(systems, seed)
    use = systems.levels
    model = M.fit(systems)
    model.shift = best_shift(ends[use], systems.watts[use][:, [0, -1]])
    predicted = curves(fold, results, systems, lambda _: model.shift)
    for mode in MODES:
        at = usable(mode, systems)
        model.bands[mode] = band(mode, residuals(mode, predicted[mode][at], systems.watts[at]))
    r = residuals("a_priori", predicted["a_priori"], systems.watts)
    model.bands["new_family"] = new_family_band(r[new_families(systems)])
    model.typical = typical_hosts(systems)
    for f in sorted(set(model.family_shape) | model.later_families):  # what else was measured is too little to count as known
        at = systems.family == f
        model.family_counts[f] = (int(at.sum()), len(set(systems.cpu[at])))
    return model
