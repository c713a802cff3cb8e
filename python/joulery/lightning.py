"""Energy for Lightning: Trainer(callbacks=[joulery.lightning.Energy()])."""

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:
    from pytorch_lightning.callbacks import Callback

from ._epochs import Epochs, batch_size
from ._profile import window
from ._worth import Worth

__all__ = ["Energy", "StopWhenEnergyNotWorthIt"]


class Energy(Callback):
    """Marks each optimizer step, however many batches it takes, and logs energy_j, j_per_sample and watts of each epoch, for the whole host.

    The figures go to the Trainer's loggers and callback metrics, and to `trackers` (see joulery.trackers). Metrics become KPIs of
    `joulery run`'s report by themselves. What is not known is left out, never 0.
    """

    def __init__(self, trackers=None, interval=0.1):
        self._epochs = Epochs(trackers, interval, window("torch"))
        self._steps_taken = 0
        self.total = None  # of the last training, a joulery Spent

    @property
    def epochs(self):
        """A dict for each epoch that ended: epoch, energy_j, j_per_sample, watts, seconds, samples, quality, partial."""
        return self._epochs.epochs

    def on_train_start(self, trainer, pl_module):
        self._epochs.begin()

    def on_train_epoch_start(self, trainer, pl_module):
        self._steps_taken = trainer.global_step
        self._epochs.epoch_begin(trainer.current_epoch)

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        if not self._epochs._in_step:  # else the batches before it are of the same step
            self._epochs.step_begin()
        self._epochs.count(batch_size(batch))

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if trainer.global_step != self._steps_taken:
            self._steps_taken = trainer.global_step
            self._epochs.step_end()

    def on_validation_start(self, trainer, pl_module):
        self._epochs.step_end()

    def on_train_epoch_end(self, trainer, pl_module):
        figures = self._epochs.epoch_end(trainer.callback_metrics)
        if figures:
            pl_module.log_dict(figures, rank_zero_only=True)

    def on_train_end(self, trainer, pl_module):
        self.total = self._epochs.end()

    def on_exception(self, trainer, pl_module, exception):
        self.total = self._epochs.end()


class StopWhenEnergyNotWorthIt(Callback):
    """Ends the training where `monitor` gains less than `min_gain_per_kwh` for each kilowatt-hour, after `patience` epochs in a row."""

    def __init__(self, min_gain_per_kwh, monitor="val_loss", mode="auto", patience=1, start_from_epoch=0):
        self.worth = Worth(min_gain_per_kwh, monitor, mode, patience, start_from_epoch)
        self._meter = Epochs(trackers=None)
        self.stopped_epoch = None

    def on_train_start(self, trainer, pl_module):
        self.worth.reset()
        self._meter.begin()

    def on_train_epoch_end(self, trainer, pl_module):
        stop = self._meter.first and self.worth.update(trainer.callback_metrics.get(self.worth.name))
        if trainer.world_size > 1:
            stop = trainer.strategy.broadcast(stop, src=0)
        if stop:
            trainer.should_stop = True
            self.stopped_epoch = trainer.current_epoch

    def on_train_end(self, trainer, pl_module):
        self._meter.end()

    def on_exception(self, trainer, pl_module, exception):
        self._meter.end()
