"""Where a hook's figures go beside the report: MLflow, Weights & Biases, TensorBoard.

    joulery.keras.Energy(trackers=[joulery.trackers.MLflow(), joulery.trackers.TensorBoard("logs")])

Left alone, hooks log to an MLflow run that is active and to a Weights & Biases run that has begun. Nothing is imported that the
program does not use already. A tracker is any object with log(figures, step): figures is a dict of floats, without what is not known.
"""

import os
import sys

from ._events import EventFile


class MLflow:
    """Logs to the active MLflow run as metrics joulery/energy_j, joulery/j_per_sample and joulery/watts; does nothing without one."""

    def log(self, figures, step):
        mlflow = sys.modules.get("mlflow")
        if mlflow is not None and mlflow.active_run() is not None:
            mlflow.log_metrics({f"joulery/{name}": value for name, value in figures.items()}, step=step)


class WandB:
    """Logs to the current Weights & Biases run, beside what the program logs next; does nothing without one."""

    def log(self, figures, step):
        wandb = sys.modules.get("wandb")
        if wandb is not None and getattr(wandb, "run", None) is not None:
            wandb.log({**{f"joulery/{name}": value for name, value in figures.items()}, "joulery/epoch": step})


class TensorBoard:
    """Logs scalars joulery/energy_j ... for TensorBoard, into a folder or through a SummaryWriter of the program's own."""

    def __init__(self, where):
        self._where = where
        self._add = getattr(where, "add_scalar", None)

    def log(self, figures, step):
        if self._add is None:
            self._add = EventFile(os.fspath(self._where)).add
        for name, value in figures.items():
            self._add(f"joulery/{name}", value, step)


def resolve(trackers):
    """The list of trackers that a hook's argument names: "auto", None, one, or several."""
    if trackers == "auto":
        return [MLflow(), WandB()]
    if trackers is None:
        return []
    return list(trackers) if isinstance(trackers, (list, tuple)) else [trackers]
