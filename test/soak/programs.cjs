/** The parts of the soak that are programs of their own: a trainer, a parent of worker threads, and one that is asked for anything. */
'use strict';

const path = require('node:path');
const { planOf } = require('../fuzz/plan.cjs');
const { request } = require('./service.cjs');
const { startProgram } = require('./processes.cjs');

const CALLS = 20;
/** Calls that end the process, or take it for long: test/fuzz/known.json says why. */
const known = require('../fuzz/known.json').map(({ target }) => new RegExp(target, 'i'));

async function programPart(name, file, args, { fail }) {
  const start = () => {
    const program = startProgram(path.join(__dirname, file), args);
    program.exited.then(({ code, signal, said, wasAsked }) => {
      if (!wasAsked) fail(`${name} ended with ${signal ?? `status ${code}`}: ${said}`);
    });
    return program;
  };
  const part = {
    name,
    counts: { units: 0 },
    program: start(),
    pids: async () => [{ name, pid: part.program.pid, ...(await part.program.ask('model')) }],
    async unit() {
      await part.program.ask('work', 1);
      part.counts.units++;
    },
    rest: async () => [{ pid: part.program.pid, ...(await part.program.ask('memory')) }],
    end: () => part.program.end(),
    restart() {
      part.program = start();
    },
  };
  await part.program.ask('model');
  return part;
}

/** Its requests to its own socket would end the recordings of the soak (attach.cjs). */
const OWN = /^files\.attach$/;
/** Its calls begin again after so many: an op takes about 12 KiB when it is first called, and new ones would hide a leak. */
const CYCLE = 2000;
/** Rounds in which it makes all of them once. */
const HOSTILE_WARM_UP = 20;

/** The calls of a seed, over HTTP. If one ends the process, which is a failure, a new process makes the next. */
async function hostilePart({ random, fail, seed }) {
  const part = await programPart('hostile calls', 'hostile.cjs', [], { fail });
  let url;
  const listen = async () => {
    url = `http://127.0.0.1:${await part.program.ask('listen')}/call`;
  };
  await listen();
  const targets = (await part.program.ask('targets')).filter(
    ({ name }) => ![...known, OWN].some((one) => one.test(name)),
  );
  const { pids } = part;
  part.pids = async () => (await pids()).map((one) => ({ ...one, warmUp: HOSTILE_WARM_UP }));
  part.counts = {};
  let next = 0;
  part.unit = async () => {
    for (let i = 0; i < CALLS; i++) {
      const plan = planOf(seed, next++ % CYCLE, targets);
      const text = random.chance(0.02) ? '{"target":' : JSON.stringify(plan);
      try {
        const { status } = await request(url, { method: 'POST', body: text });
        part.counts[status] = (part.counts[status] ?? 0) + 1;
      } catch (error) {
        fail(`hostile calls: ${error.message}: ${text}`);
        part.restart();
        await listen();
      }
    }
    for (const { kind, plan, detail } of await part.program.ask('findings'))
      fail(`${kind}: ${JSON.stringify(plan)}: ${detail}`);
  };
  return part;
}

module.exports = { hostilePart, programPart };
