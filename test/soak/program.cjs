/** A program of the soak: it answers the messages of the driver, one after another, and ends with it. */
'use strict';

const path = require('node:path');

const LIB = path.resolve(__dirname, '../../dist/lib');
const torch = require(path.join(LIB, 'index.js'));
const { collectAll } = require(path.join(LIB, 'memory/collector.js'));

/** The figures once collections free nothing more: what the program still holds. */
async function settled() {
  const figures = () => {
    const { tensors, storages, bytes, allocatedBytes } = torch.memory();
    return { tensors, storages, bytes, allocatedBytes };
  };
  let last = '';
  for (let same = 0; same < 3; ) {
    await new Promise(setImmediate);
    collectAll();
    const now = JSON.stringify(figures());
    same = now === last ? same + 1 : 0;
    last = now;
  }
  return figures();
}

/** `answers`: a function for each verb. `memory` is answered here. */
function answerDriver(answers) {
  const all = { memory: settled, ...answers };
  let turn = Promise.resolve();
  process.on('message', ({ id, verb, value }) => {
    turn = turn
      .then(() => all[verb](value))
      .then(
        (answer) => process.send({ id, answer: answer ?? null }),
        (error) => process.send({ id, error: String(error?.stack ?? error) }),
      );
  });
  process.on('disconnect', () => process.exit());
  process.on('SIGINT', () => {}); // Ctrl-C reaches all processes of the terminal; the driver ends them
}

module.exports = { LIB, answerDriver, torch };
