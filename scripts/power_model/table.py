"""The model as a table that people can read and the program compiles in: one line per tree, centre, curve, band.
kind,name,numbers...; lines that begin with # tell where the numbers come from."""
import csv
import io

import numpy as np

from . import features as F
from . import regress as R
from .model import Model

SOURCE = """\
# The power model: watts of a whole machine at the wall from what it knows of itself and its utilisation.
# Written by scripts/learn_power_model; do not edit. See docs/decisions/0003-the-estimate.md.
# Learnt from {full} SPECpower_ssj2008 results with all load levels and {ends} with idle and full load alone
# (Standard Performance Evaluation Corporation, https://www.spec.org/power_ssj2008/results/, published 2007 to 2026,
# read in 2026). SPEC and SPECpower_ssj are trademarks of the Standard Performance Evaluation Corporation.
# No result ships: these are coefficients. Watts are log ratios to the total TDP unless a line says otherwise.
# tree,TARGET,7 features (-1: all go left),7 thresholds,8 leaves     start,TARGET,value     shift,,idle,full
# centre,INDEX,features of `smooth`    smooth,TARGET,one,features,bumps    smooth_curve,LEVEL,one,features,bumps
# later,TARGET,one,features of `smooth` less their middle (families of which only idle and full load are known)
# shape,FEATURE,levels 0..100    half,,levels
# family,NAME,results,processors,offset of idle,offset of full,curve offsets at levels 0..100
# host,NAME,TDP per chip,chips,cores per chip,threads per core,GB per core,TDP per core (medians; "" of all since 2011)
# band,MODE,low at levels 0..100,high at levels 0..100
# package,LEVEL,watts per TDP,low,high    memory,,W per GB,low,high    tdp_guess,,factor,low,high    names,KIND,features in order
"""


def _number(x):
    return np.format_float_positional(round(float(x), 6), trim="-")


def write(path, m, package, memory, tdp_guess, full, ends):
    out = io.StringIO()
    out.write(SOURCE.format(full=full, ends=ends))
    line = csv.writer(out, lineterminator="\n").writerow
    for kind, names in (("smooth", F.SMOOTH), ("trees", F.TREES), ("shape", F.SHAPE)):
        line(["names", kind, *names])
    for target, (start, trees) in zip(("idle", "full"), m.trees):
        line(["start", target, _number(start)])
        for feature, threshold, leaf in trees:
            line(["tree", target, *map(int, feature), *map(_number, threshold), *map(_number, leaf)])
    line(["bump_length", "", _number(R.BUMP_LENGTH)])
    for i, c in enumerate(m.centres):
        line(["centre", i, *map(_number, c)])
    for i, target in enumerate(("idle", "full")):
        line(["smooth", target, *map(_number, m.smooth[:, i])])
    for i in range(11):
        line(["smooth_curve", i * 10, *map(_number, m.smooth_curve[:, i])])
    for i, target in enumerate(("idle", "full")):
        line(["later", target, *map(_number, m.later[:, i])])
    line(["shift", "", *map(_number, m.shift)])
    for name, row in zip(F.SHAPE, m.shape):
        line(["shape", name, *map(_number, row)])
    line(["half", "", *map(_number, m.half)])
    for name, (results, cpus) in m.family_counts.items():
        offset, curve = m.family_offset.get(name, np.zeros(2)), m.family_shape.get(name, np.zeros(11))
        line(["family", name, results, cpus, *map(_number, offset), *map(_number, curve)])
    for name, row in m.typical.items():
        line(["host", name, *map(_number, row)])
    for mode, b in m.bands.items():
        line(["band", mode, *map(_number, b[:, 0]), *map(_number, b[:, 1])])
    for level, row in package:
        line(["package", level, *map(_number, row)])
    line(["memory", "", *map(_number, memory)])
    line(["tdp_guess", "", *map(_number, tdp_guess)])
    with open(path, "w", encoding="utf-8") as f:
        f.write(out.getvalue())


def read(path):
    """(model, package rows {level: (value, low, high)}, memory (value, low, high))."""
    m, package, memory = Model(), {}, None
    start, trees, smooth, shape, curve, later = {}, {"idle": [], "full": []}, {}, {}, {}, {}
    with open(path, encoding="utf-8") as f:
        for kind, name, *rest in csv.reader(x for x in f if not x.startswith("#")):
            v = np.array([float(x) for x in rest]) if kind != "names" else None
            if kind == "tree":
                trees[name].append((v[:7].astype(int), v[7:14], v[14:]))
            elif kind == "start":
                start[name] = v[0]
            elif kind == "centre":
                m.centres = v[None] if m.centres is None else np.vstack([m.centres, v])
            elif kind == "smooth":
                smooth[name] = v
            elif kind == "smooth_curve":
                curve[int(name)] = v
            elif kind == "later":
                later[name] = v
            elif kind == "shift":
                m.shift = v
            elif kind == "shape":
                shape[name] = v
            elif kind == "half":
                m.half = v
            elif kind == "family":
                m.family_counts[name] = (int(v[0]), int(v[1]))
                m.family_offset[name], m.family_shape[name] = v[2:4], v[4:]
            elif kind == "host":
                m.typical[name] = v
            elif kind == "band":
                m.bands[name] = np.column_stack([v[:11], v[11:]])
            elif kind == "package":
                package[int(name)] = v
            elif kind == "memory":
                memory = v
    m.trees = [(start[t], trees[t]) for t in ("idle", "full")]
    m.smooth = np.column_stack([smooth["idle"], smooth["full"]])
    m.smooth_curve = np.column_stack([curve[u] for u in range(0, 101, 10)])
    m.later = np.column_stack([later["idle"], later["full"]])
    m.later_families = {f for f, curve_offsets in m.family_shape.items() if not np.any(curve_offsets)}
    m.shape = np.array([shape[n] for n in F.SHAPE])
    return m, package, memory
