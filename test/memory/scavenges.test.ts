/**
 * Scavenges that leave out the objects of V8's startup snapshot (native/v8/scavenges.h): V8 has them again whenever anything
 * else runs. Contexts, workers and heap snapshots are made from them.
 */
import * as path from 'node:path';
import { ask } from '../support/child';
import { LIB, ROOT } from '../support/torch';

const NATIVE = `const { native } = require(${JSON.stringify(path.join(LIB, 'addon/native.js'))});`;

test('each scavenge of a program that leaves tensors to the collector is shortened, full collections are not', async () => {
  const { first, after, full } = await ask(
    `${NATIVE}
    const a = torch.ones([512, 512]);
    for (let i = 0; i < 500; i++) a.add(a);
    const first = native.shortenScavenges();
    for (let i = 0; i < 10; i++) gc({ type: 'minor' });
    const after = native.shortenScavenges().scavenges - first.scavenges;
    for (let i = 0; i < 10; i++) gc();
    answer({ first, after, full: native.shortenScavenges().scavenges - first.scavenges - after });
  `,
    ['--expose-gc'],
  );
  expect(first.objects).toBeGreaterThan(5_000); // in Node 20 to 26: 11,000 to 14,000
  expect(first.scavenges).toBeGreaterThan(20);
  expect(after).toBe(10);
  expect(full).toBe(0);
});

test.each([
  ['LIBTORCH_NODE_SHORT_SCAVENGES=0', "process.env.LIBTORCH_NODE_SHORT_SCAVENGES = '0';", []],
  ['isolates that share objects', '', ['--shared-string-table']],
])('none with %s', async (_name, setUp, flags) => {
  const scavenges = await ask(
    `${setUp} ${NATIVE}
    const a = torch.ones([512, 512]);
    for (let i = 0; i < 500; i++) a.add(a);
    answer(native.shortenScavenges().scavenges);
  `,
    [...flags],
  );
  expect(scavenges).toBe(0); // of those before this call, which shortens later ones
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
    `${NATIVE} ${BUSY} busy(60).then((seen) => answer({ seen, scavenges: native.shortenScavenges().scavenges }));`,
    ['--expose-gc'],
  );
  expect(seen).toEqual([3, 8]);
  expect(scavenges).toBeGreaterThan(100);
});

test('so they do where V8 collects at every few hundred allocations and compacts each time', async () => {
  const seen = await ask(`${NATIVE} ${BUSY} busy(3).then(answer);`, [
    '--expose-gc',
    '--gc-interval=2000',
    '--compact-on-every-full-gc',
  ]);
  expect(seen).toEqual([3, 8]);
});

test('two addons in a thread: one of them hides and shows the objects', async () => {
  const { counts, seen } = await ask(
    `${NATIVE} ${BUSY}
    const fs = require('fs'); const p = require('path');
    const folder = fs.mkdtempSync(p.join(require('os').tmpdir(), 'ltn-scavenges-'));
    process.on('exit', () => fs.rmSync(folder, { recursive: true }));
    const copy = p.join(folder, 'copy.node');
    fs.copyFileSync(process.env.LIBTORCH_NODE_ADDON ?? ${JSON.stringify(path.join(ROOT, 'build/Release/libtorch_node.node'))}, copy);
    native.shortenScavenges();
    const other = { exports: {} };
    process.dlopen(other, copy);
    const both = () => [native, other.exports].map((addon) => addon.shortenScavenges().scavenges);
    const start = both();
    busy(20).then((seen) => answer({ seen, counts: both().map((count, i) => count - start[i]) }));
  `,
    ['--expose-gc'],
  );
  expect(seen).toEqual([3, 8]);
  expect(counts).toEqual([expect.any(Number), 0]);
  expect(counts[0]).toBeGreaterThan(30);
});
