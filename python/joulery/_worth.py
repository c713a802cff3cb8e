"""Energy-aware early stopping: is what the last kilowatt-hours bought worth them?"""

from ._energy import energy
from ._epochs import as_number, warn

_BETTER_HIGH = ("acc", "auc", "f1", "precision", "recall", "score", "bleu", "rouge", "map", "iou", "r2")
_BETTER_LOW = ("loss", "error", "err", "perplexity", "mse", "mae", "rmse", "wer", "cer", "latency")


def direction_of(name, mode="auto"):
    """+1 where more of this figure is better, -1 where less is. Its name tells, or `mode`: "max" or "min"."""
    if mode in ("max", "min"):
        return 1 if mode == "max" else -1
    if mode != "auto":
        raise ValueError(f"mode must be 'auto', 'max' or 'min', not {mode!r}")
    lower = name.lower()
    if any(word in lower for word in _BETTER_LOW):
        return -1
    if any(word in lower for word in _BETTER_HIGH):
        return 1
    raise ValueError(f"the name {name!r} does not tell whether more or less of it is better: say mode='max' or mode='min'")


class Worth:
    """Decides, once an evaluation: has `name` gained at least `min_gain_per_kwh` for each kilowatt-hour since it last had?

    The gain counts from the best value at the last evaluation that was worth its energy. After `patience` evaluations in a row that
    were not, update() says True. Where the energy is not known it says so once, and never stops anything.
    """

    def __init__(self, min_gain_per_kwh, name, mode="auto", patience=1, start_from=0):
        if not min_gain_per_kwh > 0:
            raise ValueError("min_gain_per_kwh must be above 0")
        if patience < 1:
            raise ValueError("patience must be at least 1")
        self.name, self._sign = name, direction_of(name, mode)
        self._least, self._patience, self._start_from = min_gain_per_kwh, patience, start_from
        self.reset()

    def reset(self):
        self._best = self._from = None
        self._waited = self._seen = 0
        self.gain_per_kwh = None
        self.stopped = False

    def update(self, value, reading=None):
        """`value` of this evaluation, and what was burnt until now (joulery.energy() where it is not given). True: stop."""
        number = as_number(value)
        now = reading if reading is not None else energy()
        if number is None:
            warn(f"early stopping by energy sees no {self.name!r}")
            return False
        if now.joules is None:
            warn(f"early stopping by energy never stops this program: {now.reason}")
            return False
        self._seen += 1
        if self._from is None or self._seen <= self._start_from:
            self._best, self._from = number, now
            return False
        spent = now - self._from
        if not spent.kwh:
            return False
        gain = self._sign * (number - self._best)
        self.gain_per_kwh = gain / spent.kwh
        if self.gain_per_kwh >= self._least:
            self._best, self._from, self._waited = number, now, 0
            return False
        self._waited += 1
        self.stopped = self._waited >= self._patience
        return self.stopped

    def words(self):
        return f"{self.name} gains {self.gain_per_kwh:.4g} per kWh, less than {self._least:.4g}: stopping"
