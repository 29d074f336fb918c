/**
 * A child process of accounting.test.ts: random steps against the model until `steps` of them have run; then nothing may
 * be leaked. Usage: node --expose-gc program.cjs LIB SEED STEPS [PATH]. Prints one line of JSON; a failure with its seed,
 * path and the shrunk list of steps.
 */
'use strict';

const path = require('node:path');
const fc = require('fast-check');
const { Peer } = require('./peer.cjs');
const { Run } = require('./run.cjs');
const { stepsArbitrary } = require('./steps.cjs');

const [lib, seedText, stepsText, replayPath] = process.argv.slice(2);
const torch = require(path.join(lib, 'index.js'));
const peer = new Peer(lib);
const seed = Number(seedText);
const wanted = Number(stepsText);

/** Ignores libtorch's warnings about intended steps (a resized out=). */
process.removeAllListeners('warning');

const figures = () => {
  const { tensors, storages, bytes, allocatedBytes, tokens } = torch.memory();
  return { tensors, storages, bytes, allocatedBytes, tokens };
};

const totals = { steps: 0, runs: 0, widest: 0, kinds: {} };
let last = [];
/** How long a failure is shrunk. fast-check's own limit would leave a run active beside the next one. */
const SHRINK_MS = 40_000;
let shrinkUntil = Number.POSITIVE_INFINITY;
let first; // the steps of the first failure, in case it does not recur while shrinking

/** Unregistered tensors of a failed step must not fail the next, smaller list. */
async function clean() {
  for (let i = 0; i < 2; i++) {
    await new Promise((resolve) => setImmediate(resolve));
    globalThis.gc();
  }
}

async function once(steps, autograd) {
  if (Date.now() > shrinkUntil) return;
  if (first !== undefined) await clean();
  const run = new Run(torch, peer, totals, autograd);
  last = run.log;
  try {
    await run.all(steps);
  } catch (error) {
    if (first === undefined) shrinkUntil = Date.now() + SHRINK_MS;
    first ??= run.log;
    throw error;
  }
}

async function main() {
  // The one-time set-up of libtorch and fast-check is excluded from the figures.
  await once(fc.sample(stepsArbitrary, { seed: 1, numRuns: 1 })[0], true);
  globalThis.gc();
  Object.assign(totals, { steps: 0, runs: 0, widest: 0, kinds: {} });
  const before = figures();
  const property = fc.asyncProperty(stepsArbitrary, fc.boolean(), once);
  for (let round = 0; totals.steps < wanted; round++) {
    const result = await fc.check(property, {
      seed: seed + round,
      path: replayPath,
      numRuns: 50,
      endOnFailure: false,
    });
    if (result.failed && result.counterexample !== null) {
      // Runs the shrunk list again, for its printed steps.
      shrinkUntil = Number.POSITIVE_INFINITY;
      const error = await once(...result.counterexample).catch((thrown) => thrown);
      const shown = error === undefined ? ['(it did not come again; the whole list)', ...first] : last;
      const text = shown.map((line) => `  ${line}`).join('\n');
      throw new Error(
        `LIBTORCH_NODE_SEED=${seed + round} LIBTORCH_NODE_PATH=${result.counterexamplePath}\n${text}\n` +
          `${(error ?? result.errorInstance)?.stack}\n(first found as: ${result.errorInstance?.message})`,
      );
    }
    if (replayPath !== undefined) break;
  }
  await peer.stop();
  globalThis.gc();
  console.log(JSON.stringify({ ...totals, threads: peer.starts, before, after: figures() }));
}

main().catch(async (error) => {
  console.error(error.message);
  process.exitCode = 1;
  await peer.stop();
});
