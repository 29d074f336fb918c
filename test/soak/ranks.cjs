/**
 * Ranks on this machine that train with DistributedDataParallel, a quarter of the steps in torch.run, and then reduce tensors of
 * 16 MiB. Prints a table of what each rank held. Exit status 1 if a rank held other tensors after one step than after another, or
 * if its resident memory grew in the last three quarters of the steps. Delays of the event loop are printed; they depend on the
 * machine, so they are judged only with --most-delay: the 99th percentile during the all-reduces must be less.
 */
'use strict';

const { spawn } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { commandLine } = require('../support/command-line.cjs');

/** Caches of allocators fill in the meantime. */
const MOST_GROWTH_MIB = 24;
const LIB = path.resolve(__dirname, '../../dist/lib/index.js');

const USAGE = `usage: node test/soak/ranks.cjs [options]
  --ranks N        processes (2)
  --steps N        steps of training (10000)
  --reduces N      all-reduces of 16 MiB (200)
  --most-delay MS  fails if the event loop was late by more (10 fits a machine without other work)
  --plant leak     a fault, for the test of the soak`;

const values = commandLine(USAGE, {
  ranks: { type: 'string', default: '2' },
  steps: { type: 'string', default: '10000' },
  reduces: { type: 'string', default: '200' },
  'most-delay': { type: 'string', default: 'Infinity' },
  plant: { type: 'string', default: '' },
});
const [ranks, steps, reduces] = ['ranks', 'steps', 'reduces'].map((name) => {
  const number = Number(values[name]);
  if (Number.isInteger(number) && number > 0) return number;
  console.error(`--${name}: expected a positive integer, got ${values[name]}`);
  return process.exit(2);
});

const mostDelay = Number(values['most-delay']);
if (!(mostDelay > 0)) {
  console.error(`--most-delay: expected a positive number of ms, got ${values['most-delay']}`);
  process.exit(2);
}

function start(rank, folder, views) {
  const env = {
    ...process.env,
    ...{ LIB, RANK: String(rank), WORLD_SIZE: String(ranks), STORE: `file://${folder}/store-${views}`, VIEWS: views },
    ...{
      STEPS: String(steps),
      PLANT: values.plant,
      REDUCES: String(reduces),
      OMP_NUM_THREADS: '1',
      GLOO_SOCKET_IFNAME: 'lo',
    },
  };
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [path.join(__dirname, 'rank.cjs')], { env, stdio: ['ignore', 'pipe', 2] });
    let text = '';
    child.stdout.on('data', (chunk) => {
      text += chunk;
    });
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) resolve(JSON.parse(text));
      else reject(new Error(`rank ${rank} ended with ${signal ?? `status ${code}`}`));
    });
  });
}

const row = (...cells) => console.log(`| ${cells.join(' | ')} |`);

async function main() {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'ltn-soak-ranks-'));
  const failures = [];
  console.log(`${ranks} ranks, ${steps.toLocaleString('en')} steps, ${reduces} all-reduces of 16 MiB`);
  row(
    'rank',
    'gradients are views',
    'held after each step',
    'MiB resident: first quarter, end',
    'event loop p99, ms: idle, all-reduce',
  );
  row(...Array(5).fill('---'));
  try {
    for (const views of ['0', '1']) {
      const all = await Promise.all(Array.from({ length: ranks }, (_, rank) => start(rank, folder, views)));
      for (const [rank, { held, resident, idle, reducing }] of all.entries()) {
        row(rank, views === '1', held.join('; '), resident.join(', '), `${idle}, ${reducing}`);
        if (held.length !== 1) failures.push(`rank ${rank}: ${held.length} different states after a step`);
        if (reducing >= mostDelay) {
          failures.push(`rank ${rank}: the event loop's delay has p99 ${reducing} ms, expected less than ${mostDelay}`);
        }
        const grown = resident[1] - resident[0];
        if (grown > MOST_GROWTH_MIB) failures.push(`rank ${rank}: the resident memory grew by ${grown} MiB`);
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  for (const failure of failures) console.error(failure);
  console.log(failures.length === 0 ? 'no failure' : `${failures.length} failures`);
  process.exitCode = failures.length === 0 ? 0 : 1;
}

main();
