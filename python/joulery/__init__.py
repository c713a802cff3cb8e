"""Marks for Joulery: say where the steps of a program begin and end, and what they achieved.

Under ``joulery run`` the marks become joules per step and per unit of work; otherwise they do nothing.

    for batch in joulery.steps(loader, samples=64):
        train(batch)
    joulery.kpi("accuracy", 0.93)

A program that is started by itself can measure a part of itself:

    with joulery.measure() as m:
        train()
    print(m.joules, m.quality)
"""

from ._measure import Measurement, measure
from ._joulery import Step, Steps, active, kpi, lost, mark, step, steps, work

__all__ = ["Measurement", "Step", "Steps", "active", "kpi", "lost", "mark", "measure", "step", "steps", "work"]
