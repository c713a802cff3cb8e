// TensorFlow.js: model.fit(x, y, {callbacks: joulery.tfjs()}). Marks each batch as a step, and adds what each epoch has burnt to its logs.
'use strict';

// `joulery` is the package itself; options: {samples} where a batch does not tell its size.
function tfjs(joulery, options = {}) {
  let step = null, before = null, samples = 0;
  const finish = () => {
    if (step) step.end();
    step = null;
  };
  const epochs = [];
  return {
    epochs, // a figure is null where it is not known
    onTrainBegin: async () => { joulery.energy(); },
    onEpochBegin: async (epoch) => {
      joulery.mark('epoch', epoch);
      samples = 0;
      before = joulery.energy();
    },
    onBatchBegin: async () => {
      finish();
      step = joulery.step();
    },
    onBatchEnd: async (batch, logs) => { // fit() tells a batch's size at its end alone
      finish();
      const size = (logs && logs.size) || options.samples || 0;
      samples += size;
      if (size) joulery.work(size);
    },
    onEpochEnd: async (epoch, logs) => {
      finish();
      for (const [name, value] of Object.entries(logs || {})) if (typeof value === 'number') joulery.kpi(name, value);
      const used = joulery.spent(before, joulery.energy());
      epochs.push({epoch, energy_j: used.joules, j_per_sample: used.joules !== null && samples ? used.joules / samples : null,
        watts: used.watts, seconds: used.seconds, samples: samples || null, quality: used.quality, partial: used.partial, reason: used.reason});
      const {energy_j, j_per_sample, watts} = epochs[epochs.length - 1];
      for (const [name, value] of Object.entries({energy_j, j_per_sample, watts})) if (logs && value !== null) logs[name] = value;
    },
    onTrainEnd: async () => finish(),
  };
}

module.exports = {tfjs};
