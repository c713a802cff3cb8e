"""joulery.energy(): what was burnt so far, while the program runs."""

import atexit
import os
import threading

from . import _joulery

_TOO_OLD = 60.0  # seconds: whoever told last has been stopped, or has gone


class Reading:
    """What was burnt from some instant in the past until now. The difference of two readings is a Spent.

    Meters are read some times a second, so the last stretch, `ahead` joules, is worked out from the power before it: it is part of
    `joules`, and the interval says that it may have been nothing, or twice as much.
    """

    __slots__ = ("joules", "low", "high", "quality", "watts", "partial", "missing", "reason", "time", "age", "ahead", "_begin", "_until", "_holes")

    def __init__(self, told, reason=""):
        begin, until, energy, low, high, watts, holes, quality, partial, missing, now = told
        self._begin, self._until, self._holes = begin, until, holes
        self.time = now * 1e-9
        self.age = (now - until) * 1e-9 if energy is not None else None
        known = energy is not None and self.age <= _TOO_OLD
        self.ahead = watts * self.age if known and watts is not None else 0.0
        self.joules = energy * 1e-6 + self.ahead if known else None
        self.low = low * 1e-6 if known else None
        self.high = high * 1e-6 + 2 * self.ahead if known else None
        self.quality = quality if known else "missing"
        self.watts = watts if known else None
        self.partial, self.missing = partial or not known, missing
        if known:
            self.reason = ""
        elif energy is not None:
            self.reason = f"the last reading is {self.age:.0f} s old"
        else:
            self.reason = reason or missing or "no meter has been read yet"

    @property
    def fresh(self):
        """Whether the count has begun and no meter has been read since."""
        return self.joules is None and self._begin != 0 and self._until == 0

    def __sub__(self, earlier):
        return Spent(earlier, self) if isinstance(earlier, Reading) else NotImplemented

    def __repr__(self):
        if self.joules is None:
            return f"<joulery.Reading not known: {self.reason}>"
        return f"<joulery.Reading {self.joules:.6g} J ({self.low:.6g} to {self.high:.6g} J, {self.quality}{', partial' if self.partial else ''})>"


class Spent:
    """What was burnt between two readings. `joules`, `low`, `high` and `watts` are None where that is not known, and `reason` says why."""

    __slots__ = ("joules", "low", "high", "quality", "seconds", "partial", "reason")

    def __init__(self, earlier, later):
        self.seconds = later.time - earlier.time
        self.joules = self.low = self.high = None
        self.quality, self.partial = "missing", True
        joules, low, high, ahead = earlier.joules, earlier.low, earlier.high, earlier.ahead
        if earlier.fresh and later.joules is not None and later._begin == earlier._begin:
            # Nothing had been read since the count began with 0, a moment before: that moment had the mean power of all.
            ahead = later.joules * (earlier.time - earlier._begin * 1e-9) / (later.time - earlier._begin * 1e-9)
            joules, low, high = ahead, 0.0, 2 * ahead
        self.reason = ("" if joules is not None else earlier.reason) or later.reason or self._unrelated(earlier, later, joules)
        if self.reason:
            return
        self.joules = later.joules - joules
        self.low = max(later.low - low - 2 * ahead, 0.0)
        self.high = later.high - (high - 2 * ahead)
        self.quality = later.quality
        self.partial = later.partial or later._holes != earlier._holes

    @staticmethod
    def _unrelated(earlier, later, joules):
        if earlier._begin != later._begin:
            return "the two readings do not count from the same instant"
        if earlier._until >= later._until or later.joules < joules:
            return "shorter than the time between two readings of the meters"
        return ""

    @property
    def watts(self):
        """Mean power, or None."""
        return self.joules / self.seconds if self.joules is not None and self.seconds > 0 else None

    @property
    def kwh(self):
        """Energy in kilowatt-hours, or None."""
        return self.joules / 3.6e6 if self.joules is not None else None

    def __repr__(self):
        if self.joules is None:
            return f"<joulery.Spent not known: {self.reason}>"
        return f"<joulery.Spent {self.joules:.6g} J ({self.low:.6g} to {self.high:.6g} J, {self.quality}) in {self.seconds:.3f} s>"


class _Session:
    """The meters as this process reads them itself, once for all hooks that want it."""

    def __init__(self):
        self._lock = threading.Lock()
        self._users = 0
        self._handle = None

    def acquire(self, interval=0.1):
        with self._lock:
            self._users += 1
            if self._users == 1 and not told_by_run():
                self._handle = _joulery.begin_session(round(interval * 1e9), "hooks", True)

    def release(self):
        with self._lock:
            self._users = max(self._users - 1, 0)
            if self._users == 0:
                self._handle = None  # its threads end with it

    def close(self):
        self._handle = None

    def told(self):
        handle = self._handle
        return _joulery.session_energy(handle) if handle is not None else None


session = _Session()
atexit.register(session.close)  # while the interpreter is still whole


def told_by_run():
    """Whether a `joulery run` around this program tells it its energy."""
    return _joulery.energy_so_far() is not None


def energy():
    """What was burnt so far, as a Reading: under `joulery run` since its program began; else since a hook began to measure.

    before = joulery.energy()
    train()
    spent = joulery.energy() - before
    print(spent.joules, spent.watts, spent.reason)

    Where nothing is known its figures are None, never 0, and `reason` says why. Both readings are of the whole machine.
    """
    told = _joulery.energy_so_far() or session.told()
    if told is not None:
        return Reading(told)
    inside = "JOULERY_RING" in os.environ
    reason = "this `joulery run` tells no energy" if inside else "neither `joulery run` nor a hook of this process reads the meters"
    return Reading((0, 0, None, None, None, None, 0, "missing", True, "", _joulery.energy_clock()), reason)
