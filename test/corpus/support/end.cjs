/**
 * Loaded before a program of the corpus (`node -r`): replaces `process.exit` by the end that CORPUS_END names. `drain` waits
 * for the event loop to become empty, `sigterm` is a service that lingers after SIGTERM, `crash` an uncaught error.
 */
const { isMainThread } = require('node:worker_threads');

/** A drained program may be held by its own timers, and a service lingers for this long, in ms. */
const LINGER_MS = 1000;

const exit = process.exit.bind(process);
const ends = {
  exit,
  drain: () => setTimeout(exit, LINGER_MS, 0).unref(),
  sigterm: () => {
    process.once('SIGTERM', () => setTimeout(exit, LINGER_MS, 0));
    process.kill(process.pid, 'SIGTERM');
  },
  sigkill: () => process.kill(process.pid, 'SIGKILL'),
  crash: () => {
    throw new Error('the program crashed');
  },
};
const { CORPUS_END: end } = process.env;
if (isMainThread && end !== undefined) process.exit = ends[end];
