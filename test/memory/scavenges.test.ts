/**
 * Scavenges that leave out the objects of V8's startup snapshot (native/v8/scavenges.h): V8 has them again whenever anything
 * else runs. Contexts, workers and heap snapshots are made from them.
 */
import * as path from 'node:path';
import { ask } from '../support/child';
import { LIB, ROOT } from '../support/torch';

const NATIVE = `const { native } = require(${JSON.stringify(path.join(LIB, 'addon/native.js'))});`;

test('scavenges that the library requests are shortened, others and full collections are not', async () => {
  const { ours, objects, short } = await ask(
    `${NATIVE}
    const a = torch.ones([512, 512]);
    for (let i = 0; i < 500; i++) a.add(a);
    const ours = native.shortScavenges();
    const short = [];
    const counted = (fn) => { const before = native.shortScavenges(); fn(); short.push(native.shortScavenges() - before); };
    const minor = () => gc({ type: 'minor' });
    counted(() => { for (let i = 0; i < 10; i++) minor(); });
    const objects = native.shortenScavenge();
    counted(minor);
    counted(minor);
    native.shortenScavenge();
    counted(() => gc());
    counted(minor);
    answer({ ours, objects, short });
  `,
    ['--expose-gc'],
  );
  expect(ours).toBeGreaterThan(20);
  expect(objects).toBeGreaterThan(1_000); // in Node 20 to 26: 11,000 to 14,000; in Debian's 20.19: 1,600
  expect(short).toEqual([0, 1, 0, 0, 0]);
});

test.each([
  ['LIBTORCH_NODE_SHORT_SCAVENGES=0', "process.env.LIBTORCH_NODE_SHORT_SCAVENGES = '0';", []],
  ['isolates that share objects', '', ['--shared-string-table']],
])('none with %s', async (_name, setUp, flags) => {
  // The variable is read when the collector is loaded.
  const scavenges = await ask(
    `${setUp}
    for (const key of Object.keys(require.cache)) if (!key.endsWith('.node')) delete require.cache[key];
    const again = require(${JSON.stringify(path.join(LIB, 'index.js'))});
    ${NATIVE}
    const a = again.ones([512, 512]);
    for (let i = 0; i < 500; i++) a.add(a);
    answer(native.shortScavenges());
  `,
    [...flags],
  );
  expect(scavenges).toBe(0);
});

/** Makes contexts and a worker, between scavenges and full collections, by what V8 has in its snapshot. */
const BUSY = `
  const vm = require('vm');
  const v8 = require('v8');
  const { Worker } = require('worker_threads');
  const a = torch.ones([512, 512]);
  const inContext = () => vm.runInNewContext(
    'new Map([[1, 2]]).size + [3, 1, 2].sort()[0] + new Date(0).getTime() + JSON.parse("[4]")[0] + /a(b)/.exec("ab").length');
  const busy = async (rounds) => {
    const seen = new Set();
    for (let i = 0; i < rounds; i++) {
      for (let j = 0; j < 20; j++) a.add(a);
      seen.add(inContext());
      if (i % 5 === 0) gc();
      seen.add(inContext());
      gc({ type: 'minor' });
    }
    const work = (library) => {
      const torch = require(library);
      const b = torch.ones([512, 512]);
      for (let i = 0; i < 200; i++) b.add(b);
      require('worker_threads').parentPort.postMessage(require('vm').runInNewContext('[1, 2].map((n) => n + 1)[1]'));
    };
    const source = '(' + work + ')(' + JSON.stringify(${JSON.stringify(path.join(LIB, 'index.js'))}) + ')';
    for (let i = 0; i < 2; i++) {
      const worker = new Worker(source, { eval: true });
      worker.on('message', (value) => seen.add(value));
      await new Promise((ended) => worker.on('exit', ended));
    }
    v8.getHeapSnapshot().destroy();
    seen.add(inContext());
    return [...seen].sort();
  };
`;

test('contexts, workers and heap snapshots find the objects between collections', async () => {
  const { seen, scavenges } = await ask(
    `${NATIVE} ${BUSY} busy(60).then((seen) => answer({ seen, scavenges: native.shortScavenges() }));`,
    ['--expose-gc'],
  );
  expect(seen).toEqual([3, 8]);
  expect(scavenges).toBeGreaterThan(100);
});

test('so they do where V8 collects at random, and compacts in each full collection', async () => {
  const seen = await ask(`${NATIVE} ${BUSY} busy(3).then(answer);`, [
    '--expose-gc',
    '--stress-scavenge=50',
    '--stress-incremental-marking',
    '--compact-on-every-full-gc',
  ]);
  expect(seen).toEqual([3, 8]);
});

test('two addons in a thread: one of them hides and shows the objects', async () => {
  const { seen, first, second } = await ask(
    `${NATIVE} ${BUSY}
    const fs = require('fs'); const p = require('path');
    const folder = fs.mkdtempSync(p.join(require('os').tmpdir(), 'ltn-scavenges-'));
    process.on('exit', () => fs.rmSync(folder, { recursive: true }));
    const copy = p.join(folder, 'copy.node');
    fs.copyFileSync(process.env.LIBTORCH_NODE_ADDON ?? ${JSON.stringify(path.join(ROOT, 'build/Release/libtorch_node.node'))}, copy);
    const other = { exports: {} };
    process.dlopen(other, copy);
    const addons = [native, other.exports];
    const short = () => addons.map((addon) => addon.shortScavenges());
    addons.forEach((addon) => addon.shortenScavenge());
    gc({ type: 'minor' }); // both want to hide them
    const first = short();
    addons.reverse().forEach((addon) => addon.shortenScavenge());
    gc({ type: 'minor' });
    addons.reverse();
    const second = short();
    busy(20).then((seen) => answer({ seen, first, second }));
  `,
    ['--expose-gc'],
  );
  expect(seen).toEqual([3, 8]);
  // Each hides them once, where its callback is called first.
  expect(first.reduce((sum: number, count: number) => sum + count)).toBe(1);
  expect(second.reduce((sum: number, count: number) => sum + count)).toBe(2);
});
