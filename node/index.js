// Marks for Joulery: say where the steps of a program begin and end, and what they achieved. Under `joulery run` the marks become joules
// per step and per unit of work; otherwise they do nothing.
//
//   const joulery = require('joulery');
//   const step = joulery.step(64); train(batch); step.end();
//   joulery.kpi('accuracy', 0.93);
//   await model.fit(x, y, {callbacks: joulery.tfjs()});
'use strict';

const {energy, spent} = require('./energy.js');
const {Ring, STEP_BEGIN, STEP_END, POINT, KPI, WORK} = require('./ring.js');
const {tfjs} = require('./tfjs.js');

let ring; // undefined: nobody has looked yet

// As launchers of distributed programs number their processes; the first mark of one that has a number is the point "rank".
const RANKS = ['RANK', 'OMPI_COMM_WORLD_RANK', 'PMI_RANK', 'SLURM_PROCID'];

function current() {
  if (ring !== undefined) return ring;
  ring = Ring.open(process.env.JOULERY_RING);
  const rank = RANKS.map((name) => process.env[name]).find((text) => /^[0-9]{1,9}$/.test(text ?? ''));
  if (ring && rank !== undefined) ring.place(POINT, 'rank', Number(rank));
  return ring;
}

function place(kind, name, value) {
  const open = current();
  if (open) open.place(kind, name, value);
}

class Step {
  constructor(samples, name) {
    this.name = name;
    place(STEP_BEGIN, name, samples);
  }

  end() {
    if (this.name !== null) place(STEP_END, this.name, 0);
    this.name = null;
  }
}

const joulery = {
  // A step begins; its end() closes it. Steps nest.
  step: (samples = 0, name = 'step') => new Step(samples, name),
  mark: (name, value = 0) => place(POINT, name, value),
  kpi: (name, value) => place(KPI, name, value),
  work: (count, unit = 'sample') => place(WORK, unit, count),
  active: () => current() !== null,
  lost: () => (current() ? current().lostCount : 0),
  energy: () => energy(),
  spent,
  tfjs: (options) => tfjs(joulery, options),
};

module.exports = joulery;
