"""What all hooks share: steps, epochs, their energy and figures."""

import math
import numbers
import sys

from . import _joulery
from ._energy import energy, session
from ._ranks import local_rank, local_ranks
from .trackers import resolve


class Warner:
    """Says each thing once, on stderr: a hook must not fill a log."""

    def __init__(self):
        self._said = set()

    def __call__(self, text):
        if text not in self._said:
            self._said.add(text)
            print(f"joulery: {text}", file=sys.stderr)


warn = Warner()


def is_number(value):
    """A finite figure that a report can hold; True and False are none."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)


def as_number(value):
    """The figure in a number, a NumPy scalar or a tensor of one element, else None."""
    if isinstance(value, (str, bytes, bool)) or value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, RuntimeError):
        return None
    return number if math.isfinite(number) else None


def batch_size(batch):
    """How many samples a batch holds: the first dimension of the first array in it, 0 where it has none that tells."""
    todo = [batch]
    while todo:
        item = todo.pop(0)
        shape = getattr(item, "shape", None)
        if shape is not None:
            return int(shape[0]) if len(shape) > 0 and shape[0] is not None else 0
        if isinstance(item, dict):
            todo = list(item.values()) + todo
        elif isinstance(item, (list, tuple)):
            todo = list(item) + todo
        elif hasattr(item, "data") and isinstance(getattr(item, "data"), dict):  # a BatchEncoding
            todo = list(item.data.values()) + todo
    return 0


class Epochs:
    """Marks the steps of a training and tells what each epoch has burnt. Hooks call it; it knows no framework.

    `epochs` has a dict for each epoch that ended: epoch, energy_j, j_per_sample, watts, seconds, samples, quality, partial; what
    is not known is None there, and left out of what trackers and a framework's own history are given.
    """

    LOGGED = ("energy_j", "j_per_sample", "watts")

    def __init__(self, trackers="auto", interval=0.1, profile=None):
        self.epochs = []
        self.first = local_rank() == 0
        self._trackers = resolve(trackers) if self.first else []
        self._interval = interval
        self._profile = profile  # a _profile.Window where `joulery run --profile` asks for one
        self._running = False
        self._step = _joulery.step()
        self._in_step = False
        self._before = self._begin = None
        self._epoch = 0
        self.samples = 0
        self.steps = 0

    # The training as a whole.
    def begin(self):
        if self._running:
            return
        self._running = True
        if self.first:
            session.acquire(self._interval)
        self._begin = energy()

    def end(self):
        if not self._running:
            return None
        self.step_end()
        if self._profile is not None:
            self._profile.end()
        spent = energy() - self._begin
        self._running = False
        if self.first:
            session.release()
        return spent

    # Steps. What a step holds may be known only at its end.
    def step_begin(self, samples=0):
        self.step_end()
        if self._profile is not None:
            self._profile.step_begin()
        self._in_step = True
        self.count(samples)
        self._step.__enter__()

    def step_end(self):
        if self._in_step:
            self._in_step = False
            self._step.__exit__(None, None, None)
            self.steps += 1
            if self._profile is not None:
                self._profile.step_end()

    def count(self, samples):
        if samples:
            self.samples += samples
            _joulery.work(samples, "sample")

    # Epochs.
    def epoch_begin(self, epoch):
        self.begin()
        self._epoch, self.samples, self.steps = epoch, 0, 0
        if self.first:
            _joulery.mark("epoch", epoch)
        self._before = energy()

    def epoch_end(self, metrics=None):
        """The figures of this epoch; `metrics` become KPIs. Gives what a framework's history takes: known figures alone."""
        self.step_end()
        self.kpis(metrics or {})
        if self._before is None:
            return {}
        spent = energy() - self._before
        samples = self.samples * local_ranks()  # ranks of a host share its joules, and the batches evenly
        figures = {
            "energy_j": spent.joules,
            "j_per_sample": spent.joules / samples if spent.joules is not None and samples else None,
            "watts": spent.watts,
        }
        self.epochs.append({"epoch": self._epoch, **figures, "seconds": spent.seconds, "samples": samples or None,
                            "quality": spent.quality, "partial": spent.partial})
        if spent.joules is None and self.first:
            warn(f"the energy of an epoch is not known: {spent.reason}")
        known = {name: value for name, value in figures.items() if value is not None}
        self.track(known)
        return known

    def kpis(self, metrics):
        if not self.first or not _joulery.active():
            return
        for name, value in metrics.items():
            number = None if name in self.LOGGED else as_number(value)
            if number is not None:
                _joulery.kpi(str(name), number)

    def track(self, figures):
        if not figures:
            return
        for tracker in self._trackers:
            try:
                tracker.log(figures, self._epoch)
            except Exception as error:  # a tracker's trouble is not the training's
                warn(f"{type(tracker).__name__} did not take the figures: {error}")
