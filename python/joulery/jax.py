"""Energy for JAX: loops whose steps end when the computation does.

    energy = joulery.jax.Energy()
    for epoch in energy.epochs(10):
        for batch in batches:
            with energy.step(samples=64) as step:
                state = step.ready(update(state, batch))
"""

import jax

from ._loop import Loop, _Step
from ._worth import Worth

__all__ = ["Energy", "StopWhenEnergyNotWorthIt"]


class _JaxStep(_Step):
    def ready(self, value):
        """Waits until `value` has been computed, and gives it: JAX returns before that."""
        return jax.block_until_ready(value)


class Energy(Loop):
    """The energy of a training loop, by epoch: epochs(), steps(), step(), log(), figures, total."""

    _FRAMEWORK = "jax"

    def step(self, samples=0):
        """A with block as one step; its ready() waits for what was computed in it."""
        return _JaxStep(self._epochs, samples, None)


class StopWhenEnergyNotWorthIt(Worth):
    """Tells a loop when to end: update(value) is True where `monitor` gains less than `min_gain_per_kwh` for each kilowatt-hour."""

    def __init__(self, min_gain_per_kwh, monitor="val_loss", mode="auto", patience=1, start_from_epoch=0):
        super().__init__(min_gain_per_kwh, monitor, mode, patience, start_from_epoch)
