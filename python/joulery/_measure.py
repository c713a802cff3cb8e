"""joulery.measure(): the energy of a part of a program that measures itself."""

import contextlib
import functools
import json
import os
import sys

from . import _joulery

_told_of_run = False


class Measurement:
    """What was measured. Figures are None until the measurement has ended, and where they are not known: never 0.

    They are those of the whole machine while the measured part ran.
    """

    def __init__(self, name):
        self.name = name
        self._report = None
        self._reason = "the measurement has not ended"

    def _energy(self, field):
        return self._report["energy"][field] if self._report else None

    @property
    def joules(self):
        """Energy in joules, or None."""
        return self._energy("joules")

    @property
    def low(self):
        """Lower end of the 90 % interval around joules, or None."""
        return self._energy("low")

    @property
    def high(self):
        """Upper end of the 90 % interval around joules, or None."""
        return self._energy("high")

    @property
    def quality(self):
        """How the joules are known: measured, integrated, derived, estimated, or missing."""
        return self._energy("quality") or "missing"

    @property
    def seconds(self):
        """Duration by the monotonic clock, or None."""
        return self._report["duration_s"] if self._report else None

    @property
    def watts(self):
        """Mean power, or None."""
        return self.joules / self.seconds if self.joules is not None and self.seconds else None

    @property
    def components(self):
        """A dict for each component, as in the report's JSON: path, joules, low, high, quality, meter, reason, overlap ..."""
        return self._report["components"] if self._report else []

    @property
    def partial(self):
        """True where something that burns is not in joules."""
        return bool(self._energy("partial")) if self._report else True

    @property
    def missing(self):
        """What is not in joules, each with its reason."""
        return self._energy("missing") if self._report else [f"node: {self._reason}"]

    def to_json(self, indent=None):
        """The report, schema joulery.report/1, or null where there is none."""
        return json.dumps(self._report, indent=indent)

    def __repr__(self):
        return f"<joulery.Measurement {self}>"

    def __str__(self):
        if self.joules is None:
            return f"{self.name}: energy not known ({'; '.join(self.missing)})"
        doubt = "" if self.low is None else f" ({self.low:.6g} to {self.high:.6g} J, {self.quality})"
        return f"{self.name}: {self.joules:.6g} J{doubt} in {self.seconds:.3f} s, {self.watts:.4g} W{', partial' if self.partial else ''}"


class measure(contextlib.ContextDecorator):
    """Measures a with block or each call of a function, in this process.

        with joulery.measure() as m:
            train()
        print(m.joules, m.quality)

        @joulery.measure          # prints one line to stderr after each call; train.measurement is the last
        def train(): ...

    Under `joulery run` the meters are read there already: then the block only gets a mark at its begin and end, and the
    joules are in the report of the run. `force=True` measures here all the same. `interval` is in seconds.
    """

    def __new__(cls, name=None, **options):
        if callable(name):
            return cls(**options)(name)
        return super().__new__(cls)

    def __init__(self, name=None, *, interval=0.1, force=False):
        if not isinstance(name, (str, type(None))):
            raise TypeError(f"name must be a str, not {type(name)}")
        if not 0.001 <= interval <= 3600:
            raise ValueError("interval must lie between 0.001 and 3600 seconds")
        self._name, self._interval, self._force = name, interval, force
        self._handle = self._measurement = self._process = None

    def __enter__(self):
        if self._measurement is not None:
            raise RuntimeError("this measurement has begun already: make a new joulery.measure() for each")
        self._measurement = Measurement(self._name or "measure")
        self._process = os.getpid()
        if _joulery.active() and not self._force:
            self._mark("begin")
        else:
            self._handle = _joulery.begin_session(round(self._interval * 1e9), self._measurement.name)
        return self._measurement

    def __exit__(self, *error):
        measurement, handle = self._measurement, self._handle
        self._measurement = self._handle = None
        if os.getpid() != self._process:
            measurement._reason = "this process was forked off in the midst of the measurement, which goes on in its parent"
        elif handle is None:
            self._mark("end", measurement)
        else:
            measurement._report = json.loads(_joulery.end_session(handle))

    def _mark(self, what, measurement=None):
        measurement = measurement or self._measurement
        _joulery.mark(f"{measurement.name} {what}")
        measurement._reason = "measured by `joulery run`: its report has the energy"
        global _told_of_run
        if not _told_of_run:
            _told_of_run = True
            print("joulery: measure() only marks, for `joulery run` measures this program; force=True measures here too", file=sys.stderr)

    def __call__(self, function):
        name = self._name or getattr(function, "__qualname__", "measure")

        @functools.wraps(function)
        def measured(*arguments, **options):
            with measure(name, interval=self._interval, force=self._force) as measurement:
                result = function(*arguments, **options)
            measured.measurement = measurement
            if measurement._report:
                print(f"joulery: {measurement}", file=sys.stderr)
            return result

        measured.measurement = None
        return measured
