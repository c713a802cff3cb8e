"""Training loops that a program writes itself: epochs, steps, figures."""

from ._epochs import Epochs, batch_size
from ._profile import window


class Loader:
    """An iterable whose turns are steps: the time within a turn is the step's, the wait for the next item is not.

    All else is the wrapped object's own: its length, its dataset, its sampler.
    """

    def __init__(self, wrapped, samples, epochs, after=None):
        self._wrapped, self._samples, self._epochs, self._after = wrapped, samples, epochs, after

    def __iter__(self):
        epochs, samples = self._epochs, self._samples
        try:
            for item in self._wrapped:
                epochs.step_begin(samples(item) if callable(samples) else samples)
                yield item
                if self._after is not None:
                    self._after()
                epochs.step_end()
        finally:
            epochs.step_end()

    def __len__(self):
        return len(self._wrapped)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._wrapped, name)


class _Step:
    def __init__(self, epochs, samples, before_end):
        self._epochs, self._samples, self._before_end = epochs, samples, before_end

    def __enter__(self):
        self._epochs.step_begin(self._samples)
        return self

    def __exit__(self, kind, error, trace):
        if self._before_end is not None and kind is None:
            self._before_end()
        self._epochs.step_end()


class Loop:
    """The energy of a training loop, by epoch.

    energy = Loop()
    for epoch in energy.epochs(10):
        for batch in energy.steps(loader):
            train(batch)
        energy.log(accuracy=evaluate())

    `figures` are those of each epoch, as in the callbacks: epoch, energy_j, j_per_sample, watts ...
    """

    _FRAMEWORK = None  # whose profiler `joulery run --profile` starts

    def __init__(self, trackers="auto", interval=0.1):
        self._epochs = Epochs(trackers, interval, window(self._FRAMEWORK))
        self.total = None
        self._metrics = {}

    @property
    def figures(self):
        return self._epochs.epochs

    def epochs(self, count_or_iterable):
        """The numbers of the epochs; what lies between two of them is an epoch."""
        numbers = range(count_or_iterable) if isinstance(count_or_iterable, int) else count_or_iterable
        self._epochs.begin()
        try:
            for epoch in numbers:
                self._epochs.epoch_begin(epoch)
                self._metrics = {}
                yield epoch
                self._epochs.epoch_end(self._metrics)
        finally:
            self.total = self._epochs.end()

    def steps(self, iterable, samples=batch_size):
        """`iterable` with each turn as a step. `samples`: how many an item holds, or a function that tells; else its first dimension."""
        return Loader(iterable, samples, self._epochs, self._step_end())

    def step(self, samples=0):
        """A with block as one step."""
        return _Step(self._epochs, samples, self._step_end())

    def log(self, **metrics):
        """Figures of success: KPIs of `joulery run`'s report, with the energy that it took to reach them."""
        self._metrics.update(metrics)

    def _step_end(self):
        return None  # what to do before a step ends: wait for an accelerator

