/** The common beginning of these tests' programs. */
import { limitMs } from '../support/sanitized';
import { LIB } from '../support/torch';

/** How long programs wait for figures; afterwards the current ones fail the test. */
export const PATIENCE_MS = limitMs(15_000);

/** Workers from source text, exact figures, and waiting for memory that V8 frees in the background. */
export const WORKERS = `
  const { Worker, MessageChannel, SHARE_ENV } = require('node:worker_threads');
  const { once } = require('node:events');
  const HEAD = 'const torch = require(${JSON.stringify(`${LIB}/index.js`)});'
    + 'const { parentPort, workerData, Worker } = require("node:worker_threads");';
  const start = (source, options = {}) => new Worker(HEAD + source, { eval: true, ...options });
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  /** Resolves with the exit code, the error if there was one, and the messages. */
  const finish = (worker) => new Promise((resolve) => {
    const outcome = { messages: [] };
    worker.on('message', (message) => outcome.messages.push(message));
    worker.on('error', (error) => { outcome.error = error.code ?? String(error.message ?? error); });
    worker.on('exit', (code) => resolve({ ...outcome, code }));
  });
  const run = (source, options) => finish(start(source, options));
  const figures = () => {
    const { tensors, storages, bytes, allocatedBytes, tokens } = torch.memory();
    return { tensors, storages, bytes, allocatedBytes, tokens };
  };
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
  /** The figures once they equal \`wanted\`, or the last ones. */
  const settled = async (wanted) => {
    const limit = Date.now() + ${PATIENCE_MS};
    while (!same(figures(), wanted) && Date.now() < limit) { gc(); await pause(5); }
    return figures();
  };
  /** Runs \`task(i)\` for each i below \`count\`, \`atOnce\` at a time. */
  const pool = async (count, atOnce, task) => {
    let next = 0;
    await Promise.all(Array.from({ length: atOnce }, async () => { while (next < count) await task(next++); }));
  };
`;

export const GC = ['--expose-gc'];
