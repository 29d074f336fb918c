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

/** Node 24 and 26 do not export where V8's flags are. */
const hasFlags = Number(process.versions.node.split('.')[0]) < 24;

test.each([
  ['as usual', []],
  ['with --no-parallel-scavenge', ['--no-parallel-scavenge']],
  ['with --trace-gc-ignore-scavenger', ['--trace-gc-ignore-scavenger']],
])("V8's flags, by which it accepts code caches, are as before scavenges, %s", async (_name, flags) => {
  const { bytes, changed, tags, scavenges } = await ask(
    `${NATIVE} ${FLAGS}
    const v8 = require('v8');
    const before = flagsOfV8();
    const tags = [v8.cachedDataVersionTag()];
    scavenge();
    const after = flagsOfV8();
    tags.push(v8.cachedDataVersionTag());
    answer({ bytes: before.length, changed: before.filter((byte, i) => byte !== after[i]).length, tags: new Set(tags).size,
      scavenges: native.shortScavenges() });
  `,
    [...flags],
  );
  expect({ bytes, changed, tags }).toEqual({ bytes: hasFlags ? 4096 : 0, changed: 0, tags: 1 });
  expect(scavenges).toBeGreaterThan(20);
});

test('the flags are as before while another thread sets flags', async () => {
  const { changed } = await ask(
    `${FLAGS}
    const { Worker } = require('worker_threads');
    const before = flagsOfV8();
    const busy = new Worker("const v8 = require('v8'); for (;;) { v8.setFlagsFromString('--stress-compaction'); v8.setFlagsFromString('--no-stress-compaction'); }", { eval: true });
    busy.on('online', () => {
      scavenge();
      busy.terminate().then(() => {
        require('v8').setFlagsFromString('--no-stress-compaction');
        const after = flagsOfV8();
        answer({ changed: before.filter((byte, i) => byte !== after[i]).length });
      });
    });
  `,
  );
  expect(changed).toBe(0);
});

/** The lines about scavenges that a program prints, which makes some itself. */
const linesOf = (stdout: string) => stdout.match(/: Scavenge /g)?.length ?? 0;

test("V8 prints the library's scavenges for a program started with --trace-gc; one that sets it later gets its own", async () => {
  const source = `${NATIVE} ${FLAGS} scavenge();
    for (let i = 0; i < 7; i++) gc({ type: 'minor' });
    answer(native.shortScavenges());`;
  const started = await program(source, ['--trace-gc', '--expose-gc']);
  expect(started.answer).toBeGreaterThan(20);
  expect(linesOf(started.stdout)).toBeGreaterThanOrEqual(started.answer + 7);
  const later = await program(`require('v8').setFlagsFromString('--trace-gc'); ${source}`, ['--expose-gc']);
  expect(later.answer).toBeGreaterThan(20);
  const lines = linesOf(later.stdout);
  expect(lines).toBeGreaterThanOrEqual(7);
  // All of them where V8's flags were not found.
  if (hasFlags) expect(lines).toBeLessThan(later.answer);
  else expect(lines).toBeGreaterThanOrEqual(later.answer + 7);
});

test('one thread copies what survives if the last scavenge was just before', async () => {
  const { stdout } = await program(`${FLAGS} scavenge(); answer(0);`, ['--trace-gc', '--trace-parallel-scavenge']);
  // V8 prints a line for each thread that takes part, then one for the scavenge, with its time in ms.
  let threads = 0;
  let last = Number.NEGATIVE_INFINITY;
  const soon: number[] = [];
  for (const line of stdout.split('\n')) {
    if (line.includes('scavenge[')) threads++;
    const [, ms, isOurs] = /\s(\d+) ms: Scavenge .*?(testing)?; *$/.exec(line) ?? [];
    if (ms === undefined) continue;
    if (isOurs !== undefined) {
      if (Number(ms) - last < 8) soon.push(threads); // 10, and the times are rounded
      last = Number(ms);
    }
    threads = 0;
  }
  expect(soon.length).toBeGreaterThan(20);
  // Another thread may have taken part in one that V8 began by itself meanwhile.
  if (hasFlags) expect(soon.filter((count) => count !== 1).length).toBeLessThan(soon.length / 10);
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
