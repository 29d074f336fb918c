/**
 * The protocol of the programs of this folder that run in Node. A line is a question, its answer one line of JSON:
 *
 *   CASE MILLISECONDS   repeats the case for that time: {"ns": nanoseconds of one, "cpu": the same in CPU time}
 *   check CASE          runs it once: {"values": the first numbers of the result}; {} if the library cannot do it
 *   memory COUNT        runs the case `mid` that many times: {"growth": bytes of RSS that are left}, or what `memory` returns
 *
 * The arguments of a program are the sizes, in the order of `sizesOf`.
 */
'use strict';

const { createInterface } = require('node:readline');

/** @returns {{ small: number, mid: number, mm: number, images: number, rows: number }} */
exports.sizesOf = ([small, mid, mm, images, rows]) => ({
  small: Number(small),
  mid: Number(mid),
  mm: Number(mm),
  images: Number(images),
  rows: Number(rows),
});

/** The same numbers in every program, between -0.5 and 0.5: without a generator, and different for each seed. */
exports.filled = (length, seed, scale = 1) =>
  Float32Array.from({ length }, (_, i) => ((((i + 1) * (2 * seed + 37)) % 101) / 101 - 0.5) * scale);

/** Repetitions between two readings of the clock; of other cases 1. */
const BATCHES = { small: 200, mid: 5 };

async function measure(run, count, milliseconds) {
  const limit = BigInt(Math.round(milliseconds * 1e6));
  let calls = 0;
  const before = process.cpuUsage();
  const start = process.hrtime.bigint();
  for (;;) {
    await run(count);
    calls += count;
    const elapsed = process.hrtime.bigint() - start;
    if (elapsed < limit) continue;
    const { user, system } = process.cpuUsage(before); // microseconds, of all threads
    return { ns: Number(elapsed) / calls, cpu: (1000 * (user + system)) / calls };
  }
}

async function residentGrowth({ run }, count) {
  await run(100);
  const before = process.memoryUsage.rss();
  for (let i = 0; i < count; i += 5) await run(5);
  return process.memoryUsage.rss() - before;
}

/**
 * Answers the lines of stdin.
 * @param {Record<string, { run(count: number): void | Promise<void>, values(): ArrayLike<number> | Promise<ArrayLike<number>> }>} cases
 * @param {{ batches?: Record<string, number>, memory?: (count: number) => number | Promise<number> }} [options]
 */
exports.serve = async (cases, { batches = BATCHES, memory = (count) => residentGrowth(cases.mid, count) } = {}) => {
  for await (const line of createInterface({ input: process.stdin })) {
    const [first, second] = line.split(' ');
    let answer;
    if (first === 'check') {
      answer = cases[second] === undefined ? {} : { values: Array.from(await cases[second].values()).slice(0, 8) };
    } else if (first === 'memory') {
      answer = { growth: await memory(Number(second)) };
    } else {
      answer = await measure(cases[first].run, batches[first] ?? 1, Number(second));
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
};
