/** What can go wrong between ranks is a coded error in bounded time: nothing hangs, and no process is ended by libtorch. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { failure } from '../support/async';
import { limitMs } from '../support/sanitized';
import { ROOT, torch } from '../support/torch';
import { expectDone, nodes, PROGRAMS } from './ranks';

const d = torch.distributed;

test.each([
  ['a rank that calls process.exit in a collective', 'exits'],
  ['a rank that does not come', 'missing'],
  ['a store that fails when the ranks are connected', 'unchecked'],
  ['a rank that does not send in time', 'late'],
  ['a recv that is aborted', 'aborts'],
  ['objects that are received together, or aborted', 'objects'],
  ['a group that is destroyed', 'destroys'],
  ['a rank that ends before a step of ZeroRedundancyOptimizer', 'step'],
  ['a worker that is terminated in a collective', 'worker'],
])('%s', async (_, name) => {
  expectDone(await nodes('failures.mjs', 2, [name]));
});

test.each([
  'the forward of SyncBatchNorm',
  'the backward of SyncBatchNorm',
  'the constructor of DistributedDataParallel',
  'the second forward of DistributedDataParallel',
  'a backward of DistributedDataParallel',
  'a step of ZeroRedundancyOptimizer',
])('a worker that is terminated while its thread waits in %s', async (name) => {
  expectDone(await nodes('terminated.mjs', 2, [name]));
});

test('a rank that is killed', async () => {
  const [rank0, rank1] = await nodes('failures.mjs', 2, ['killed']);
  expect(rank1!.signal).toBe('SIGKILL');
  expectDone([rank0!]);
});

describe('stores', () => {
  test('a TCPStore and its client', async () => {
    const server = await new d.TCPStore('127.0.0.1', 0, { isMaster: true, waitForWorkers: false }).ready();
    const client = new d.TCPStore('127.0.0.1', server.port, { timeoutMs: 30_000 });
    const waiting = client.get('later'); // does not hold up the others
    await client.set('key', 'value');
    expect(String(await server.get('key'))).toBe('value');
    expect([await client.add('count', 2), await server.add('count', 3)]).toEqual([2, 5]);
    expect([await client.check(['key']), await client.check(['key', 'none'])]).toEqual([true, false]);
    expect(String(await client.compareSet('key', 'value', 'other'))).toBe('other');
    expect(String(await client.compareSet('key', 'value', 'third'))).toBe('other');
    expect([await client.deleteKey('key'), await client.deleteKey('key')]).toEqual([true, false]);
    const part = new d.PrefixStore('part', client);
    const bytes = new Uint8Array([1, 2]);
    const isSet = part.set('key', bytes);
    bytes.fill(7); // the value is that of the call
    await isSet;
    expect([...(await server.get('part/key'))]).toEqual([1, 2]);
    await server.set('later', 'x');
    expect(String(await waiting)).toBe('x');
    const late = await failure(client.wait(['none'], 100));
    expect([late.code, late.message]).toEqual(['ERR_TORCH_TIMEOUT', expect.stringContaining("'none'")]);
    client.setTimeout(100);
    expect((await failure(client.get('none'))).code).toBe('ERR_TORCH_TIMEOUT');
  });

  test('a master that cannot be reached', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    const { port } = taken.address() as { port: number };
    await new Promise((resolve) => taken.close(resolve));
    const begun = performance.now();
    const store = new d.TCPStore('127.0.0.1', port, { timeoutMs: 500 });
    expect((await failure(store.set('key', 'value'))).code).toMatch(/^ERR_TORCH_(TIMEOUT|DISTRIBUTED)$/);
    expect(performance.now() - begun).toBeGreaterThanOrEqual(499); // it keeps trying until then
  });

  test('a master that accepts and does not answer', async () => {
    const accepted: Socket[] = [];
    const silent = createServer((socket) => accepted.push(socket)).listen(0, '127.0.0.1');
    try {
      await new Promise((resolve) => silent.once('listening', resolve));
      const { port } = silent.address() as { port: number };
      const timeoutMs = 2000;
      const begun = performance.now();
      const options = { initMethod: `tcp://127.0.0.1:${port}`, rank: 1, worldSize: 2, timeoutMs };
      expect((await failure(d.initProcessGroup(options))).code).toMatch(/^ERR_TORCH_(TIMEOUT|DISTRIBUTED)$/);
      // It takes about a second more. The rest is for a machine that is busy with other tests.
      expect(performance.now() - begun).toBeLessThan(limitMs(timeoutMs + 10_000));
      expect(d.isInitialized()).toBe(false);
    } finally {
      silent.close();
      for (const socket of accepted) socket.destroy(); // they would keep this process
    }
  });

  test('a rank that is taken, and another number of ranks', async () => {
    const store = await new d.TCPStore('127.0.0.1', 0, { isMaster: true, waitForWorkers: false }).ready();
    await store.set('libtorch_node/rank:0', 'host:1:other');
    const options = { store, rank: 0, worldSize: 2, timeoutMs: 30_000 };
    const taken = await failure(d.initProcessGroup(options));
    expect([taken.code, taken.message]).toEqual(['ERR_TORCH_DISTRIBUTED', expect.stringContaining('rank 0')]);
    const other = await failure(d.initProcessGroup({ ...options, worldSize: 3 }));
    expect([other.code, other.message]).toEqual(['ERR_TORCH_DISTRIBUTED', expect.stringContaining('worldSize is 3')]);
    expect(d.isInitialized()).toBe(false);
  });

  test('a key that holds text cannot be added to', async () => {
    const store = await new d.TCPStore('127.0.0.1', 0, { isMaster: true, waitForWorkers: false }).ready();
    const folder = mkdtempSync(path.join(tmpdir(), 'store-'));
    try {
      for (const one of [store, new d.FileStore(path.join(folder, 'file'), 1)]) {
        await one.set('name', 'text');
        const { code, message } = await failure(one.add('name', 1));
        expect([code, message]).toEqual([
          'ERR_TORCH_DISTRIBUTED',
          expect.stringContaining("expected a counter, or no value, at the key 'name'"),
        ]);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('wrong arguments', async () => {
    const alone = { initMethod: 'tcp://127.0.0.1:1', rank: 0, worldSize: 1 };
    for (const given of [[{ backend: 'mpi' }], ['mpi'], ['gloo', { ...alone, backend: 'gloo' }], [alone, alone]]) {
      const { code } = await failure((d.initProcessGroup as (...given: unknown[]) => Promise<unknown>)(...given));
      expect([given, code]).toEqual([given, 'ERR_TORCH_ARGUMENT']);
    }
    for (const initMethod of ['http://a', 'file:///tmp/a%', 'file:///']) {
      const { code } = await failure(d.initProcessGroup({ initMethod, rank: 0, worldSize: 1 }));
      expect([initMethod, code]).toEqual([initMethod, 'ERR_TORCH_ARGUMENT']);
    }
    expect((await failure(d.initProcessGroup({ initMethod: 'tcp://a:1', rank: 2, worldSize: 2 }))).code).toBe(
      'ERR_TORCH_ARGUMENT',
    );
    expect((await failure(d.barrier())).code).toBe('ERR_TORCH_DISTRIBUTED');
  });
});

/** This build's own: that of Debian's libtorch has no NCCL. */
const { cuda } = JSON.parse(readFileSync(path.join(ROOT, 'build/Release/binding.json'), 'utf8'));
const ifNoCuda = cuda ? describe.skip : describe;

ifNoCuda('NCCL, which this build does not have', () => {
  const said = (fn: string) => [
    'ERR_TORCH_DISTRIBUTED',
    `distributed.${fn}: argument 'backend': expected 'gloo', got 'nccl': this build has no NCCL`,
  ];

  test('is refused before any rank is waited for', async () => {
    // Nobody listens there, and the time limit is that of the test.
    const options = { backend: 'nccl', initMethod: 'tcp://127.0.0.1:1', rank: 1, worldSize: 2, timeoutMs: 10 ** 6 };
    const { code, message } = await failure(d.initProcessGroup(options));
    expect([code, message]).toEqual(said('initProcessGroup'));
    expect(d.isInitialized()).toBe(false);
  });

  test('is refused for a group of some ranks, and tensors and objects that it cannot move by its name', async () => {
    const store = await new d.TCPStore('127.0.0.1', 0, { isMaster: true, waitForWorkers: false }).ready();
    const group = await d.initProcessGroup({ store, rank: 0, worldSize: 1 });
    try {
      const refused = await failure(d.newGroup(null, { backend: 'nccl' }));
      expect([refused.code, refused.message]).toEqual(said('newGroup'));
      Object.defineProperty(group, 'backend', { value: 'nccl' }); // as if it were
      const placed = await failure(d.allReduce(torch.ones([2])));
      expect([placed.code, placed.message]).toEqual([
        'ERR_TORCH_ARGUMENT',
        "distributed.allReduce: argument 'tensor': expected a tensor on CUDA, as the backend is nccl, got cpu",
      ]);
      const values = await failure(d.broadcastObject(1, 0));
      expect([values.code, values.message]).toEqual([
        'ERR_TORCH_DISTRIBUTED',
        expect.stringContaining("nccl moves no objects: pass a group of newGroup(null, { backend: 'gloo' })"),
      ]);
    } finally {
      await d.destroyProcessGroup();
    }
  });
});

test('the second addon is loaded when it is first used', async () => {
  const source = `
    const torch = require(${JSON.stringify(path.join(PROGRAMS, '../../../dist/lib/index.js'))});
    const has = () => require('fs').readFileSync('/proc/self/maps', 'utf8').includes('libtorch_node_distributed');
    Object.keys(torch); Object.keys(torch.distributed); torch.distributed.isAvailable();
    const before = has();
    new torch.distributed.FileStore('/tmp/none-' + process.pid, 1);
    console.log(before, has());`;
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', source]);
  expect(stdout.trim()).toBe('false true');
});
