"""Marks for Joulery: say where the steps of a program begin and end, and what they achieved.

Under ``joulery run`` the marks become joules per step and per unit of work; otherwise they do nothing.

    for batch in joulery.steps(loader, samples=64):
        train(batch)
    joulery.kpi("accuracy", 0.93)

A program that is started by itself can measure a part of itself:

    with joulery.measure() as m:
        train()
    print(m.joules, m.quality)

Frameworks need one line: joulery.keras.Energy(), joulery.torch.Energy(), joulery.lightning.Energy(), joulery.transformers.Energy(),
joulery.jax.Energy(). Each is imported when it is first named, and none of the frameworks before.
"""

import importlib as _importlib

from ._energy import Reading, Spent, energy
from ._measure import Measurement, measure
from ._joulery import Step, Steps, active, kpi, lost, mark, step, steps, work

__all__ = ["Measurement", "Reading", "Spent", "Step", "Steps", "active", "energy", "kpi", "lost", "mark", "measure", "step", "steps", "work"]

_SUBMODULES = ("codecarbon", "jax", "keras", "lightning", "torch", "trackers", "transformers")


def __getattr__(name):
    if name in _SUBMODULES:
        return _importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *_SUBMODULES])
