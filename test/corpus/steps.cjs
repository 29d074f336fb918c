/**
 * Drives the programs of the corpus: a number of work steps with a pause after each, in which timers, messages and
 * finalizers run. Steps count, not time: on a slower machine the same program takes longer.
 */
const { setTimeout: pause } = require('node:timers/promises');

module.exports = async function steps(work, count = 220) {
  for (let i = 0; i < count; i++) {
    await work(i);
    await pause(10);
  }
  process.exit(0); // timers and threads of a leaky program would keep it alive
};
