/** The protocol of the measured Node programs; bench/cpp/ops.cpp describes it. */
'use strict';

const { createInterface } = require('node:readline');

/** Repeats `loop`, which makes `count` calls, for that time. Returns the cost of one call. */
function measure(loop, count, milliseconds) {
  const limit = BigInt(Math.round(milliseconds * 1e6));
  let calls = 0;
  const before = process.cpuUsage();
  const start = process.hrtime.bigint();
  for (;;) {
    loop();
    calls += count;
    const elapsed = process.hrtime.bigint() - start;
    if (elapsed < limit) continue;
    const { user, system } = process.cpuUsage(before); // microseconds, including the collector's threads
    return { ns: Number(elapsed) / calls, cpu: (1000 * (user + system)) / calls };
  }
}

/** Answers each line "OP MILLISECONDS" with the cost of one call; `find` returns an op's loop and its count of calls. */
exports.serve = (find) => {
  createInterface({ input: process.stdin }).on('line', (line) => {
    const [op, milliseconds] = line.split(' ');
    const { loop, count } = find(op);
    process.stdout.write(`${JSON.stringify(measure(loop, count, Number(milliseconds)))}\n`);
  });
};
