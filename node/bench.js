// What a mark costs. Run it by itself (no ring), or under `joulery run --quiet --no-save -- node bench.js`.
'use strict';

const joulery = require("./index.js");

const rounds = 20, marks = 1000, costs = [];
for (let round = 0; round < rounds; ++round) {
  const begin = process.hrtime.bigint();
  for (let i = 0; i < marks; ++i) joulery.mark('point', i);
  costs.push(Number(process.hrtime.bigint() - begin) / marks);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 150);  // the reader empties the ring every 100 ms
}
costs.sort((a, b) => a - b);
console.log(JSON.stringify({ ring: joulery.active(), ns_per_mark_median: Math.round(costs[rounds / 2]), lost: joulery.lost() }));
