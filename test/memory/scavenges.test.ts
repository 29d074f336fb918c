/**
 * Scavenges that leave out the objects of V8's startup snapshot (native/v8/scavenges.h): V8 has them again whenever anything
 * else runs. Contexts, workers and heap snapshots are made from them.
 */
import * as path from 'node:path';
import { ask, program } from '../support/child';
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
    const objects = native.shortenScavenge(false);
    counted(minor);
    counted(minor);
    native.shortenScavenge(true);
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

/** A copy of V8's flags, which are a page of memory. Empty in Node 24 and 26, which do not export where it is. */
const FLAGS = `
  const fs = require('fs');
  const addressOfFlags = () => {
    for (const line of fs.readFileSync('/proc/self/maps', 'utf8').split('\\n')) {
      const [, base, file] = /^([0-9a-f]+)-\\S+ \\S+ 0+ .*?(\\/\\S*\\/(?:node|libnode\\.so\\S*))$/.exec(line) ?? [];
      if (file === undefined) continue;
      const symbols = require('child_process').execFileSync('nm', ['-D', file], { encoding: 'utf8', maxBuffer: 1 << 28 });
      const [, address] = /^([0-9a-f]+) \\S _ZN2v88internal8v8_flagsE$/m.exec(symbols) ?? [];
      if (address === undefined) continue;
      const header = Buffer.alloc(18);
      const elf = fs.openSync(file);
      fs.readSync(elf, header, 0, 18, 0);
      fs.closeSync(elf);
      const isMovable = header.readUInt16LE(16) === 3; // ET_DYN
      return parseInt(address, 16) + (isMovable ? parseInt(base, 16) : 0);
    }
    return undefined;
  };
  const address = addressOfFlags();
  const flagsOfV8 = () => {
    if (address === undefined) return Buffer.alloc(0);
    const page = Buffer.alloc(4096);
    const memory = fs.openSync('/proc/self/mem');
    fs.readSync(memory, page, 0, 4096, address);
    fs.closeSync(memory);
    return page;
  };
  const a = torch.ones([512, 512]);
  const scavenge = () => { for (let i = 0; i < 500; i++) a.add(a); };
`;

test.each([
  ['as usual', [], 1],
  ['with --no-parallel-scavenge', ['--no-parallel-scavenge'], 1],
  ['with --trace-gc', ['--trace-gc'], 0],
])("V8's flags after scavenges %s: at most one has changed, that of the trace", async (_name, flags, changed) => {
  const { answer, stdout } = await program(
    `${NATIVE} ${FLAGS}
    const pages = [flagsOfV8()];
    for (let i = 0; i < 2; i++) { scavenge(); pages.push(flagsOfV8()); }
    const differing = (page, other) => page.filter((byte, i) => byte !== other[i]).length;
    answer({ bytes: pages[0].length, first: differing(pages[0], pages[1]), later: differing(pages[1], pages[2]),
      scavenges: native.shortScavenges() });
  `,
    [...flags],
  );
  const isExported = Number(process.versions.node.split('.')[0]) < 24;
  expect(answer).toMatchObject({ bytes: isExported ? 4096 : 0, first: isExported ? changed : 0, later: 0 });
  expect(answer.scavenges).toBeGreaterThan(20);
  const traced = stdout.match(/Scavenge/g)?.length ?? 0;
  if (changed === 0) expect(traced).toBeGreaterThanOrEqual(answer.scavenges);
  else expect(traced).toBe(0);
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
    addons.forEach((addon) => addon.shortenScavenge(true));
    gc({ type: 'minor' }); // both want to hide them
    const first = short();
    addons.reverse().forEach((addon) => addon.shortenScavenge(true));
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
