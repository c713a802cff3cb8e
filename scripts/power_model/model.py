"""The shipped model: how it is learnt from systems, and what it says of a machine.

log(idle) and log(full load) are the mean of trees and of a smooth regression with an offset per family, both on the
logarithm of the ratio to the total TDP. The curve between them is a ridge regression with an offset per family; without
calibration it is the mean of that and of a smooth regression that needs no watts. With a machine's own idle and maximum
only the ridge regression is used; with its own half load the curve is bent to pass through it."""
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from . import features as F
from . import regress as R

LINE_PENALTY, FAMILY_PENALTY = 3.0, 8.0
LATER_LINE, LATER_FAMILY = 3.0, 1.0  # penalties of the correction for families of which only idle and full load are known


@dataclass
class Model:
    trees: list = field(default_factory=list)        # idle, full: (start, trees)
    centres: np.ndarray = None
    smooth: np.ndarray = None                        # columns: idle, full
    smooth_curve: np.ndarray = None                  # columns: levels 0..100
    later: np.ndarray = None                         # rows: one, features of SMOOTH; columns: idle, full
    later_families: set = field(default_factory=set)
    shape: np.ndarray = None                         # rows: features of SHAPE; columns: levels 0..100
    family_shape: dict = field(default_factory=dict)  # family -> 11 offsets
    family_offset: dict = field(default_factory=dict)  # family -> offset of log idle and of log full
    half: np.ndarray = None                          # 11: how far a level moves with the half-load point
    shift: np.ndarray = field(default_factory=lambda: np.zeros(2))
    bands: dict = field(default_factory=dict)        # mode -> 11 x (low, high)
    typical: dict = field(default_factory=dict)      # family -> typical host
    family_counts: dict = field(default_factory=dict)


def weights(cpus):
    """Less weight for each of many results of one processor: the square root of a full vote each."""
    count = Counter(cpus)
    w = np.array([count[c] ** -0.5 for c in cpus])
    return w / w.mean()


def fit(systems):
    """Learns from rows with all levels, then offsets for families of which only idle and full load are known."""
    m, s = Model(), systems.where(systems.levels)
    w, cols = weights(s.cpu), F.columns(s.known)
    ends = np.log(s.watts[:, [0, -1]]) - cols["log_tdp_total"][:, None]
    x, z = F.matrix(cols, F.TREES), F.matrix(cols, F.SMOOTH)
    m.trees = [R.fit_trees(x, ends[:, i], w, seed=i) for i in (0, 1)]
    m.centres = R.centres(z)
    names = sorted(set(s.family))
    groups = (s.family[:, None] == np.array(names)).astype(float)
    m.smooth, offsets = R.fit_smooth(z, m.centres, ends, w, groups)
    m.family_offset = dict(zip(names, np.round(offsets / 2, R.DIGITS)))  # half, as the smooth regression counts half
    m.later = np.zeros((z.shape[1] + 1, 2))
    m.smooth_curve, _ = R.fit_smooth(z, m.centres, (s.watts - s.watts[:, :1]) / (s.watts[:, -1:] - s.watts[:, :1]), w)
    _fit_shape(m, s, w, cols)
    _fit_later_families(m, systems.where(~systems.levels & (systems.known[:, F.YEAR] > F.YEAR_HIGH)))
    return m


def _fit_shape(m, s, w, cols):
    log_idle, log_full = np.log(s.watts[:, 0]), np.log(s.watts[:, -1])
    z = F.shape_matrix(cols, log_idle, log_full)
    span = s.watts[:, -1] - s.watts[:, 0]
    y = (s.watts - s.watts[:, :1]) / span[:, None]
    names = sorted(set(s.family))
    phi = np.column_stack([z] + [s.family == n for n in names]).astype(float)
    penalty = np.diag([0.01] + [LINE_PENALTY] * (z.shape[1] - 1) + [FAMILY_PENALTY] * len(names))
    wr = w * (span / s.watts[:, 5]) ** 2  # errors count in parts of the whole power
    wr = (wr / wr.mean())[:, None]
    c = np.round(np.linalg.solve(phi.T @ (phi * wr) + penalty, phi.T @ (y * wr)), R.DIGITS)
    m.shape, m.family_shape = c[:z.shape[1]], dict(zip(names, c[z.shape[1]:]))
    d = y - fractions(m, s.family, cols, log_idle, log_full)
    m.half = np.round((d * d[:, 5:6] * wr).sum(0) / (d[:, 5:6] ** 2 * wr).sum(0), R.DIGITS)


def later_matrix(cols):
    """Lines through the middle of the later machines: what their size changes on top of what older ones teach."""
    z = F.matrix(cols, F.SMOOTH)
    return np.column_stack([np.ones(len(z)), z - np.array([5.7, 0.7, 4.0, 1.0, 6.0, 2.4])])


def _fit_later_families(m, later):
    """A correction for families that came after those whose curves are known, from idle and full load alone."""
    if not len(later):
        return
    names = sorted(set(later.family))
    residual = np.log(later.watts[:, [0, -1]]) - ends(m, later, shifted=False)
    lines = later_matrix(F.columns(later.known))
    phi = np.column_stack([lines, later.family[:, None] == np.array(names)]).astype(float)
    w = weights(later.cpu)[:, None]
    penalty = np.diag([0.1] + [LATER_LINE] * (lines.shape[1] - 1) + [LATER_FAMILY] * len(names))
    c = np.round(np.linalg.solve(phi.T @ (phi * w) + penalty, phi.T @ (residual * w)), R.DIGITS)
    m.later, m.later_families = c[:lines.shape[1]], set(names)
    m.family_offset |= dict(zip(names, c[lines.shape[1]:]))


def ends(m, s, shifted=True):
    """log idle and log full load of each row."""
    cols = F.columns(s.known)
    x, z = F.matrix(cols, F.TREES), F.matrix(cols, F.SMOOTH)
    trees = np.column_stack([R.trees_predict(t, x) for t in m.trees])
    both = (trees + R.smooth_design(z, m.centres) @ m.smooth) / 2 + cols["log_tdp_total"][:, None]
    zero = np.zeros(2)
    both = both + np.array([m.family_offset.get(f, zero) for f in s.family])
    is_later = np.array([f in m.later_families for f in s.family])
    both = both + is_later[:, None] * (later_matrix(cols) @ m.later)
    both = both - m.shift if shifted else both
    return np.column_stack([np.minimum(both[:, 0], both[:, 1] + np.log(0.95)), both[:, 1]])


def fractions(m, family, cols, log_idle, log_full):
    """The curve: 0 at idle, 1 at full load, never falling."""
    zero = np.zeros(11)
    s = F.shape_matrix(cols, log_idle, log_full) @ m.shape + np.array([m.family_shape.get(f, zero) for f in family])
    return _tidy(s)


def _tidy(s):
    s = np.clip(s, 0, 1)
    s[:, 0], s[:, -1] = 0, 1
    return np.maximum.accumulate(s, 1)


def a_priori(m, s):
    e, cols = ends(m, s), F.columns(s.known)
    smooth = _tidy(R.smooth_design(F.matrix(cols, F.SMOOTH), m.centres) @ m.smooth_curve)
    f = (fractions(m, s.family, cols, e[:, 0], e[:, 1]) + smooth) / 2
    idle, full = np.exp(e[:, :1]), np.exp(e[:, 1:])
    return idle + (full - idle) * f


def two_points(m, s):
    idle, full = s.watts[:, :1], s.watts[:, -1:]
    f = fractions(m, s.family, F.columns(s.known), np.log(idle[:, 0]), np.log(full[:, 0]))
    return idle + (full - idle) * f


def three_points(m, s):
    idle, full, half = s.watts[:, :1], s.watts[:, -1:], s.watts[:, 5:6]
    f = fractions(m, s.family, F.columns(s.known), np.log(idle[:, 0]), np.log(full[:, 0]))
    return idle + (full - idle) * bend(m, f, (half - idle) / (full - idle))


def bend(m, f, half):
    """Moves the curve so that it passes through `half` (a fraction) at 50 %."""
    f = f + m.half * (half - f[:, 5:6])
    f[:, :5] = np.minimum(f[:, :5], half)
    f[:, 5:6] = half
    f[:, 6:] = np.maximum(f[:, 6:], half)
    return _tidy(f)
