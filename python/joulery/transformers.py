"""Energy for the Hugging Face Trainer: Trainer(..., callbacks=[joulery.transformers.Energy()])."""

from transformers import TrainerCallback

from ._epochs import Epochs
from ._profile import window
from ._worth import Worth

__all__ = ["Energy", "StopWhenEnergyNotWorthIt"]


class Energy(TrainerCallback):
    """Marks each training step, however many batches gradient accumulation puts into it, and what each epoch has burnt.

    energy_j, j_per_sample and watts go into the Trainer's log_history and to `trackers` (see joulery.trackers). What the Trainer logs
    and its evaluations find become KPIs of `joulery run`'s report by themselves. What is not known is left out, never 0.
    """

    _NOT_SUCCESS = ("epoch", "total_flos", "learning_rate", "grad_norm", "step")

    def __init__(self, trackers="auto", interval=0.1):
        self._epochs = Epochs(trackers, interval, window("torch"))
        self._left = None   # samples of this epoch that no step has had yet, where the loader tells
        self.total = None   # of the last training, a joulery Spent

    @property
    def epochs(self):
        """A dict for each epoch that ended: epoch, energy_j, j_per_sample, watts, seconds, samples, quality, partial."""
        return self._epochs.epochs

    def on_train_begin(self, args, state, control, **kwargs):
        self._epochs.begin()

    def on_epoch_begin(self, args, state, control, train_dataloader=None, **kwargs):
        self._left = self._samples_of(train_dataloader)
        self._epochs.epoch_begin(int(state.epoch or 0))

    def on_step_begin(self, args, state, control, **kwargs):
        self._epochs.step_begin()

    def on_substep_end(self, args, state, control, **kwargs):
        self._count(args)

    def on_step_end(self, args, state, control, **kwargs):
        self._count(args)
        self._epochs.step_end()

    def on_epoch_end(self, args, state, control, **kwargs):
        figures = self._epochs.epoch_end()
        if figures:
            state.log_history.append({**figures, "epoch": state.epoch, "step": state.global_step})

    def on_log(self, args, state, control, logs=None, **kwargs):
        self._epochs.kpis({name: value for name, value in (logs or {}).items() if name not in self._NOT_SUCCESS and "runtime" not in name
                           and "per_second" not in name})

    def on_train_end(self, args, state, control, **kwargs):
        self.total = self._epochs.end()

    def _count(self, args):
        samples = args.train_batch_size  # of this process: per device, times its devices
        if self._left is not None:
            samples = min(samples, self._left)
            self._left -= samples
        self._epochs.count(samples)

    @staticmethod
    def _samples_of(loader):
        """How many samples one pass of this process over `loader` has; None where it does not tell."""
        try:
            return None if loader is None or loader.drop_last or getattr(loader, "num_processes", 1) > 1 else len(loader.sampler)
        except (AttributeError, TypeError):
            return None


class StopWhenEnergyNotWorthIt(TrainerCallback):
    """Ends the training where `monitor`, as evaluations find it, gains less than `min_gain_per_kwh` for each kilowatt-hour."""

    def __init__(self, min_gain_per_kwh, monitor="eval_loss", mode="auto", patience=1, start_from_epoch=0):
        self.worth = Worth(min_gain_per_kwh, monitor, mode, patience, start_from_epoch)
        self._meter = Epochs(trackers=None)

    def on_train_begin(self, args, state, control, **kwargs):
        self.worth.reset()
        self._meter.begin()

    def on_evaluate(self, args, state, control, metrics=None, **kwargs):
        if self._meter._running and self.worth.update((metrics or {}).get(self.worth.name)):
            control.should_training_stop = True
        return control

    def on_train_end(self, args, state, control, **kwargs):
        self._meter.end()
