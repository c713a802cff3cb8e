// Marks for Joulery: where the steps of a program begin and end, and what they achieved. Under `joulery run` they become joules per
// step and per unit of work; otherwise they do nothing.
'use strict';

const { open } = require('./ring');

const STEP_BEGIN = 0, STEP_END = 1, POINT = 2, KPI = 3, WORK = 4;
const STEP = 'step';

// As the launchers of distributed programs number their processes.
const RANKS = ['RANK', 'OMPI_COMM_WORLD_RANK', 'PMI_RANK', 'SLURM_PROCID'];

let ring;
function now() {
  if (ring !== undefined) return ring;
  ring = open();
  const rank = RANKS.map((name) => process.env[name]).find((text) => /^\d{1,9}$/.test(text ?? ''));
  if (rank !== undefined) ring.put(POINT, 'rank', Number(rank));
  return ring;
}

const number = (value) => (typeof value === 'number' ? value : Number(value));

function active() { return now().active; }
function lost() { return now().lost; }
function mark(name, value = 0) { now().put(POINT, name, number(value)); }
function kpi(name, value) { now().put(KPI, name, number(value)); }
function work(unit, count) { now().put(WORK, unit, number(count)); }

// The step is real, also where its size is not known.
function stepBegin(samples = 0, name = STEP) { now().put(STEP_BEGIN, name, Number.isFinite(number(samples)) ? number(samples) : 0); }
function stepEnd(name = STEP) { now().put(STEP_END, name, 0); }

// Runs `body` as a step; one that returns a promise ends when it is settled.
function step(body, { samples = 0, name = STEP } = {}) {
  stepBegin(samples, name);
  let result;
  try {
    result = body();
  } catch (error) {
    stepEnd(name);
    throw error;
  }
  if (result === null || typeof result !== 'object' || typeof result.then !== 'function') {
    stepEnd(name);
    return result;
  }
  return Promise.resolve(result).finally(() => stepEnd(name));
}

// Callbacks for TensorFlow.js' model.fit: each batch is a step and the work of its samples, each epoch a point, its figures results.
function energy() {
  let open = false;
  const close = () => {
    if (open) stepEnd();
    open = false;
  };
  return {
    onBatchBegin() {
      close();
      stepBegin();
      open = true;
    },
    // model.fit tells a batch's size when it ends.
    onBatchEnd(_batch, logs) {
      close();
      if (logs?.size > 0) work('sample', logs.size);
    },
    onEpochEnd(epoch, logs) {
      close();
      mark('epoch', epoch + 1);
      for (const [name, value] of Object.entries(logs ?? {})) if (typeof value === 'number') kpi(name, value);
    },
    onTrainEnd() { close(); },
  };
}

module.exports = { active, lost, mark, kpi, work, step, stepBegin, stepEnd, energy };
