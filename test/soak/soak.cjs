/**
 * npm run soak: drives two services, a training, worker threads, a process that takes hostile calls, and recordings of all of
 * them, at once. After each round (a minute) everything rests, and the memory of each process must be what its model says, to the
 * byte, and its resident memory, files and threads must not have grown. Exit status 1 if a check failed.
 */
'use strict';

const { randomInt } = require('node:crypto');
const fs = require('node:fs');
const { setTimeout: sleep } = require('node:timers/promises');
const { randomOf } = require('../fuzz/random.cjs');
const { commandLine, wrongUse } = require('../support/command-line.cjs');
const { attachPart } = require('./attach.cjs');
const { figuresOf } = require('./processes.cjs');
const { hostilePart, programPart } = require('./programs.cjs');
const { makeModels, servicePart } = require('./service.cjs');
const { History } = require('./history.cjs');
const { record, tableOf } = require('./table.cjs');

const ROUND_MS = 60_000;
const LONGEST_IDLE_MS = 5_000;

const USAGE = `usage: npm run soak -- [options]
  --hours N     how long it runs (2)
  --rounds N    so many rounds without a clock instead, of --units units of each part
  --units N     of each part in a round without a clock (2)
  --seed N      makes the calls of an earlier run, which printed its seed
  --idle N      how long a part pauses after each unit, as a multiple of the unit (3)
  --record      writes the table of the run to docs/reliability.md
  --plant leak  a fault, for the test of the soak`;

function readOptions() {
  const number = (text, name, least) => {
    const value = Number(text);
    if (!(value >= least)) wrongUse(`--${name}: expected a number of at least ${least}, got ${text}`, USAGE);
    return value;
  };
  const text = { type: 'string' };
  const values = commandLine(USAGE, {
    hours: text,
    rounds: text,
    seed: text,
    idle: text,
    units: text,
    record: { type: 'boolean' },
    plant: text,
  });
  return {
    rounds: values.rounds === undefined ? Number.POSITIVE_INFINITY : number(values.rounds, 'rounds', 1),
    endsAt: values.rounds === undefined ? Date.now() + number(values.hours ?? 2, 'hours', 0) * 3_600_000 : undefined,
    seed: values.seed === undefined ? randomInt(2 ** 31) : number(values.seed, 'seed', 0),
    idle: number(values.idle ?? 3, 'idle', 0),
    units: number(values.units ?? 2, 'units', 1),
    record: values.record === true,
    plant: values.plant,
  };
}

async function main() {
  const options = readOptions();
  const { seed } = options;
  const start = Date.now();
  const failures = [];
  let round = 0;
  const fail = (text) => {
    if (failures.length < 100) console.error(`round ${round}: ${text}`);
    failures.push({ round, text });
  };
  console.log(`seed ${seed}`);
  const models = makeModels();
  const given = (number) => ({ random: randomOf(seed, number), fail, seed });
  const parts = await Promise.all([
    servicePart(models, 'service', [], given(0)),
    servicePart(models, 'service with a worker', ['--workers', '1'], given(1)),
    programPart('training', 'trainer.cjs', options.plant === undefined ? [] : [options.plant], given(2)),
    programPart('worker threads', 'threads.cjs', [], given(3)),
    hostilePart(given(4)),
  ]);
  const pids = async () => (await Promise.all(parts.map((part) => part.pids()))).flat();
  const all = [...parts, attachPart(pids, given(5))];
  const history = new History(fail);

  /** One part, until the round is over. */
  async function work(part, until) {
    try {
      for (let n = 0; until === undefined ? n < options.units : Date.now() < until; n++) {
        const begun = Date.now();
        await part.unit();
        if (until !== undefined) await sleep(Math.min((Date.now() - begun) * options.idle, LONGEST_IDLE_MS));
      }
    } catch (error) {
      fail(`${part.name}: ${error.stack}`);
    }
  }

  for (; round < options.rounds && !history.isOver; round++) {
    if (options.endsAt !== undefined && Date.now() >= options.endsAt) break;
    const until = options.endsAt === undefined ? undefined : Date.now() + ROUND_MS;
    await Promise.all(all.map((part) => work(part, until)));
    for (const part of parts) await part.change?.().catch((error) => fail(`${part.name}: ${error.stack}`));
    try {
      await history.add(parts, figuresOf);
    } catch (error) {
      fail(`at rest: ${error.stack}`);
      break; // a process has ended
    }
    if (options.endsAt !== undefined)
      console.log(`${((Date.now() - start) / 60_000).toFixed(1)} min: ${history.summary()}`);
  }
  for (const part of all) await part.end();
  fs.rmSync(models, { recursive: true, force: true });
  const minutes = ((Date.now() - start) / 60_000).toFixed(1);
  const counts = all.map(({ name, counts }) => ({ name, counts }));
  const table = tableOf({ seed, minutes, rounds: round, rows: history.rows(), counts, failures });
  console.log(table);
  if (options.record) record(table);
  process.exitCode = failures.length === 0 ? 0 : 1;
}

main().catch((error) => {
  console.error(error);
  process.exit(1); // a fault of the soak itself; its programs end with it
});
