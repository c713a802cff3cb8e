"""The two learners, small enough to ship as a table: boosted trees of depth 3, and a ridge regression on lines and
radial bumps around centres (means of features; no centre holds a measured watt). numpy alone; fixed seeds."""
import numpy as np

DIGITS = 4  # everything is rounded to this before it is used, so that what is evaluated is what ships
TREE_COUNT, TREE_RATE, TREE_LEAF, TREE_RIDGE = 130, 0.07, 5, 1.0
ROW_SHARE, COLUMN_SHARE = 0.6, 0.5
CENTRES, BUMP_LENGTH, NOISE = 150, 2.0, 0.3
LINE_PENALTY, FAMILY_PENALTY = 0.02, 10.0


def tree_values(tree, x):
    """tree: (feature[7], threshold[7], leaf[8]); a feature of -1 sends all rows left."""
    feature, threshold, leaf = tree
    node = np.zeros(len(x), int)
    row = np.arange(len(x))
    for _ in range(3):
        j = feature[node]
        node = 2 * node + 1 + ((j >= 0) & (x[row, np.maximum(j, 0)] > threshold[node]))
    return leaf[node - 7]


def _best_split(bins, cuts, residual, weight, rows, features):
    rw, w = (residual * weight)[rows], weight[rows]
    total, mass = rw.sum(), w.sum()
    best, base = (1e-9, -1, 0), total ** 2 / (mass + TREE_RIDGE)
    for j in features:
        count = len(cuts[j]) + 1
        b = bins[rows, j]
        left = np.bincount(b, rw, count).cumsum()[:-1]
        left_mass = np.bincount(b, w, count).cumsum()[:-1]
        left_rows = np.bincount(b, minlength=count).cumsum()[:-1]
        gain = left ** 2 / (left_mass + TREE_RIDGE) + (total - left) ** 2 / (mass - left_mass + TREE_RIDGE) - base
        gain[(left_rows < TREE_LEAF) | (len(rows) - left_rows < TREE_LEAF)] = -1
        k = int(gain.argmax())
        if gain[k] > best[0]:
            best = (gain[k], j, k)
    return best[1], best[2]


def _grow(bins, cuts, residual, weight, rows, rng):
    feature, threshold, leaf = np.full(7, -1), np.zeros(7), np.zeros(8)
    nodes, width = {0: rows}, bins.shape[1]
    for node in range(7):
        if node not in nodes:
            continue
        rows = nodes.pop(node)
        j, k = -1, 0
        if len(rows) >= 2 * TREE_LEAF:
            j, k = _best_split(bins, cuts, residual, weight, rows, rng.permutation(width)[:max(1, int(COLUMN_SHARE * width))])
        left = bins[rows, j] <= k if j >= 0 else np.ones(len(rows), bool)
        feature[node], threshold[node] = j, cuts[j][k] if j >= 0 else 0.0
        nodes[2 * node + 1] = rows[left]
        if j >= 0:
            nodes[2 * node + 2] = rows[~left]
    for at, rows in nodes.items():
        mass = weight[rows].sum()
        leaf[at - 7] = TREE_RATE * (residual[rows] * weight[rows]).sum() / (mass + TREE_RIDGE)
    return feature, threshold, np.round(leaf, DIGITS)


def fit_trees(x, y, weight, seed):
    rng = np.random.default_rng(seed)
    cuts = [np.unique(np.round(np.quantile(x[:, j], np.linspace(.02, .98, 33)), 3)) for j in range(x.shape[1])]
    bins = np.column_stack([np.searchsorted(c, x[:, j], side="left") for j, c in enumerate(cuts)])
    start = round(float(np.average(y, weights=weight)), DIGITS)
    f, trees = np.full(len(y), start), []
    for _ in range(TREE_COUNT):
        rows = rng.permutation(len(y))[:int(ROW_SHARE * len(y))]
        trees.append(_grow(bins, cuts, y - f, weight, rows, rng))
        f = f + tree_values(trees[-1], x)
    return start, trees


def trees_predict(model, x):
    return model[0] + sum(tree_values(t, x) for t in model[1])


def centres(z, seed=0):
    """k-means of the features."""
    rng = np.random.default_rng(seed)
    c = z[rng.permutation(len(z))[:CENTRES]]  # fewer where there are fewer rows
    for _ in range(15):
        near = ((z[:, None] - c[None]) ** 2).sum(-1).argmin(1)
        c = np.array([z[near == m].mean(0) if (near == m).any() else c[m] for m in range(len(c))])
    return np.round(c, 3)


def bumps(z, c):
    return np.exp(-np.sqrt(((z[:, None] - c[None]) ** 2).sum(-1)) / BUMP_LENGTH)


def smooth_design(z, c):
    return np.column_stack([np.ones(len(z)), z, bumps(z, c)])


def fit_smooth(z, c, y, weight, groups=None):
    """Coefficients of smooth_design(), and with `groups` (rows x families, 0 or 1) an offset for each, drawn to 0."""
    phi, lines = smooth_design(z, c), z.shape[1] + 1
    if groups is not None:
        phi = np.column_stack([phi, groups])
    penalty, bumps_end = np.eye(phi.shape[1]) * FAMILY_PENALTY, lines + len(c)
    penalty[:lines, :lines] = np.eye(lines) * LINE_PENALTY
    penalty[lines:bumps_end, lines:bumps_end] = bumps(c, c)
    penalty += 1e-6 * np.eye(len(penalty))
    all_coefficients = np.linalg.solve(phi.T @ (phi * weight[:, None]) + NOISE * penalty, phi.T @ (weight[:, None] * y))
    return np.round(all_coefficients[:bumps_end], DIGITS), np.round(all_coefficients[bumps_end:], DIGITS)
