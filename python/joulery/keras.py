"""Energy for Keras: model.fit(..., callbacks=[joulery.keras.Energy()])."""

try:
    import keras
except ImportError:  # Keras 2, as TensorFlow brought it along
    from tensorflow import keras

from ._epochs import Epochs
from ._loop import Loop as _Loop
from ._profile import window
from ._worth import Worth

__all__ = ["Energy", "Loop", "StopWhenEnergyNotWorthIt"]


def _backend():
    """What Keras computes with: tensorflow, torch or jax."""
    return keras.backend.backend()


class Energy(keras.callbacks.Callback):
    """Marks each training batch as a step, and logs what each epoch has burnt: energy_j, j_per_sample and watts, for the whole machine.

    The figures go into Keras' own history, to a TensorBoard callback that stands after this one in the list, and to `trackers`
    (see joulery.trackers). Metrics become KPIs of `joulery run`'s report by themselves. What is not known is left out, never 0.
    `samples`: how many samples a batch holds, where Keras does not tell it.
    """

    def __init__(self, samples=None, trackers="auto", interval=0.1):
        super().__init__()
        self._samples = samples
        self._epochs = Epochs(trackers, interval, window(_backend()))
        self._counted = None
        self.total = None  # of the last training, a joulery Spent

    @property
    def epochs(self):
        """A dict for each epoch that ended: epoch, energy_j, j_per_sample, watts, seconds, samples, quality, partial."""
        return self._epochs.epochs

    def on_train_begin(self, logs=None):
        self._epochs.begin()

    def on_train_end(self, logs=None):
        self.total = self._epochs.end()

    def on_epoch_begin(self, epoch, logs=None):
        self._counted = None
        self._epochs.epoch_begin(epoch)

    def on_train_batch_begin(self, batch, logs=None):
        self._epochs.step_begin(self._samples or 0)

    def on_train_batch_end(self, batch, logs=None):
        self._epochs.step_end()

    def on_test_begin(self, logs=None):
        self._epochs.step_end()
        self._take_count()  # Keras forgets it when validation begins

    def on_test_end(self, logs=None):
        if not self._epochs._running:  # model.evaluate() by itself; in fit() the epoch's end has them all
            self._epochs.kpis({f"test_{name}": value for name, value in (logs or {}).items()})

    def on_epoch_end(self, epoch, logs=None):
        self._take_count()
        figures = self._epochs.epoch_end(logs)
        if logs is not None:
            logs.update(figures)

    # Keras weighs the loss by the samples of each batch: the weight so far is how many there were, last short batch and all.
    def _take_count(self):
        if self._samples or self._counted is not None:
            return
        tracker = getattr(self.model, "_loss_tracker", None)
        try:
            self._counted = int(round(float(tracker.count)))
        except (AttributeError, TypeError, ValueError):
            params = self.params or {}  # Keras 2 tells these where the data are arrays
            self._counted = int(params.get("batch_size") or 0) * self._epochs.steps
        self._epochs.count(self._counted)


class StopWhenEnergyNotWorthIt(keras.callbacks.Callback):
    """Ends the training where `monitor` gains less than `min_gain_per_kwh` for each kilowatt-hour.

    An accuracy of 0 to 1 that should gain a point (0.01) per kWh: min_gain_per_kwh=0.01. After `patience` epochs in a row below that,
    counted from the last epoch that was worth its energy, the training ends; `start_from_epoch` epochs are let go by.
    """

    def __init__(self, min_gain_per_kwh, monitor="val_loss", mode="auto", patience=1, start_from_epoch=0, verbose=0):
        super().__init__()
        self.worth = Worth(min_gain_per_kwh, monitor, mode, patience, start_from_epoch)
        self._verbose = verbose
        self._meter = Epochs(trackers=None)
        self.stopped_epoch = None

    def on_train_begin(self, logs=None):
        self.worth.reset()
        self._meter.begin()

    def on_train_end(self, logs=None):
        self._meter.end()

    def on_epoch_end(self, epoch, logs=None):
        if self.worth.update((logs or {}).get(self.worth.name)):
            self.stopped_epoch = epoch
            self.model.stop_training = True
            if self._verbose:
                print(f"epoch {epoch + 1}: {self.worth.words()}")


class Loop(_Loop):
    """For training loops of one's own:

    energy = joulery.keras.Loop()
    for epoch in energy.epochs(10):
        for x, y in energy.steps(dataset):
            train_step(x, y)
        energy.log(accuracy=accuracy.result())
    """

    _FRAMEWORK = _backend()
