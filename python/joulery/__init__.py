"""Marks for Joulery: say where the steps of a program begin and end, and what they achieved.

Under ``joulery run`` the marks become joules per step and per unit of work; otherwise they do nothing.

    for batch in joulery.steps(loader, samples=64):
        train(batch)
    joulery.kpi("accuracy", 0.93)
"""

from ._joulery import Step, Steps, active, kpi, lost, mark, step, steps, work

__all__ = ["Step", "Steps", "active", "kpi", "lost", "mark", "step", "steps", "work"]
