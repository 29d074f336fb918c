/** The protocol of the measured Node programs; bench/cpp/ops.cpp describes it. */
'use strict';

const { createInterface } = require('node:readline');

/** Runs `loop`, which makes `count` calls, for so long. The cost of one call. */
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
    const { user, system } = process.cpuUsage(before); // microseconds, the collector's threads included
    return { ns: Number(elapsed) / calls, cpu: (1000 * (user + system)) / calls };
  }
}

/** Answers each line "OP MILLISECONDS" with what one call costs; `find` knows an op's loop and its calls. */
exports.serve = (find) => {
  createInterface({ input: process.stdin }).on('line', (line) => {
    const [op, milliseconds] = line.split(' ');
    const { loop, count } = find(op);
    process.stdout.write(`${JSON.stringify(measure(loop, count, Number(milliseconds)))}\n`);
  });
};
