"""Energy for PyTorch: loops, DataLoaders, torch.profiler.

    energy = joulery.torch.Energy()
    for epoch in energy.epochs(10):
        for images, labels in energy.steps(loader):
            ...
        energy.log(accuracy=accuracy)
"""

import torch

from . import _joulery
from ._epochs import batch_size
from ._loop import Loop
from ._worth import Worth

__all__ = ["Energy", "Profiler", "StopWhenEnergyNotWorthIt", "batch_size"]


def _wait():
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()


class Energy(Loop):
    """The energy of a training loop, by epoch; see joulery._loop.Loop for its methods: epochs(), steps(), step(), log(), figures, total.

    Work on a GPU goes on after the calls that started it have returned, so the end of a step is when it was handed over. `sync=True`
    waits for the GPU at the end of each step: exact steps, and a little slower. Sums over many steps, and epochs, need it not.
    """

    _FRAMEWORK = "torch"

    def __init__(self, sync=False, trackers="auto", interval=0.1):
        super().__init__(trackers, interval)
        self._sync = sync

    def _step_end(self):
        return _wait if self._sync else None


class Profiler:
    """A torch.profiler.profile whose steps are Joulery's too, so that `joulery profile` can lay its trace beside the meters' clock.

    with joulery.torch.Profiler(torch.profiler.profile(...)) as profiler:
        for batch in loader:
            train(batch)
            profiler.step()

    At the instant where ProfilerStep#N begins there is a mark "ProfilerStep" with the value N.
    """

    def __init__(self, profiler, samples=0):
        self.profiler = profiler
        self._step = _joulery.step(samples)

    def __enter__(self):
        self.profiler.__enter__()
        self._begin()
        return self

    def __exit__(self, *error):
        self._step.__exit__(None, None, None)
        return self.profiler.__exit__(*error)

    def step(self):
        self._step.__exit__(None, None, None)
        self.profiler.step()
        self._begin()

    def _begin(self):
        _joulery.mark("ProfilerStep", self.profiler.step_num)
        self._step.__enter__()

    def __getattr__(self, name):
        if name.startswith("__") or name == "profiler":
            raise AttributeError(name)
        return getattr(self.profiler, name)


class StopWhenEnergyNotWorthIt(Worth):
    """Tells a loop when to end: update(value) is True where `monitor` gains less than `min_gain_per_kwh` for each kilowatt-hour.

    stop = joulery.torch.StopWhenEnergyNotWorthIt(min_gain_per_kwh=0.5, monitor="accuracy")
    for epoch in energy.epochs(100):
        ...
        if stop.update(accuracy): break
    """

    def __init__(self, min_gain_per_kwh, monitor="val_loss", mode="auto", patience=1, start_from_epoch=0):
        super().__init__(min_gain_per_kwh, monitor, mode, patience, start_from_epoch)
