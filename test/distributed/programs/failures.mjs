/** `node failures.mjs method rank size case`: prints 'done' if the rank gets the error that it must get. */
import assert from 'node:assert/strict';
import { lstatSync, readdirSync, readlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import torch from '../../../dist/lib/index.mjs';

const d = torch.distributed;
const [initMethod, rankText, sizeText, name] = process.argv.slice(2);
const [rank, worldSize] = [Number(rankText), Number(sizeText)];
const join = (options = {}) => d.initProcessGroup({ initMethod, rank, worldSize, timeoutMs: 60_000, ...options });
const lost = { code: 'ERR_TORCH_DISTRIBUTED' };
const late = { code: 'ERR_TORCH_TIMEOUT' };

const cases = {
  /** Rank 1 is killed in the middle of a collective. */
  async killed() {
    await join();
    if (rank === 1) return process.kill(process.pid, 'SIGKILL');
    await assert.rejects(d.allReduce(torch.ones([4])), lost);
  },
  /** Rank 1 ends by process.exit while its collective is in progress. */
  async exits() {
    await join();
    if (rank === 1) {
      d.allReduce(torch.ones([4])).catch(() => {});
      process.stdout.write('done\n', () => process.exit(0));
      return new Promise(() => {});
    }
    await assert.rejects(
      d
        .broadcast(torch.ones([4]), 1)
        .then(() => d.barrier())
        .then(() => d.barrier()),
      lost,
    );
  },
  /** A rank that does not come: named by the error. */
  async missing() {
    if (rank === 1) return;
    await assert.rejects(join({ timeoutMs: 2000 }), { ...late, message: /rank 1 has not joined/ });
  },
  /** The store fails when all ranks are connected: the connections are closed, and the ranks can join again. */
  async unchecked() {
    class Failing extends d.FileStore {
      check() {
        return Promise.reject(new Error('no answer'));
      }
    }
    const sockets = () =>
      readdirSync('/proc/self/fd').filter((fd) => {
        const file = `/proc/self/fd/${fd}`;
        return lstatSync(file, { throwIfNoEntry: false }) && readlinkSync(file).startsWith('socket:');
      }).length;
    const path = fileURLToPath(initMethod);
    const before = sockets();
    const store = new Failing(path, worldSize);
    await assert.rejects(d.initProcessGroup({ store, rank, worldSize, timeoutMs: 60_000 }), { message: 'no answer' });
    assert.equal(sockets(), before);
    await join({ initMethod: `${initMethod}-2` });
    await d.destroyProcessGroup();
    assert.equal(sockets(), before);
  },
  /** Nobody sends: the limit is that of a group which is made when both ranks are there. */
  async late() {
    await join();
    const group = await d.newGroup(null, { timeoutMs: 5000 });
    if (rank === 0) await assert.rejects(d.recv(torch.ones([4]), 1, { group }), late);
    await d.barrier(); // rank 1 stays until then, as its end would be another error
  },
  /** Aborting a recv withdraws it; the group still works. */
  async aborts() {
    await join();
    if (rank === 0) {
      const stop = new AbortController();
      const waiting = d.recv(torch.ones([4]), 1, { signal: stop.signal, tag: 3 });
      stop.abort(new Error('enough'));
      await assert.rejects(waiting, { message: 'enough' });
    }
    await d.barrier();
  },
  /** Values of one rank and tag come whole and in order, also to calls that wait together. */
  async objects() {
    await join();
    const values = [{ a: 'x'.repeat(1000) }, [1, 2], 'third'];
    if (rank === 0) await Promise.all(values.map((value) => d.sendObject(value, 1)));
    else {
      const stop = new AbortController();
      const waiting = values.map(() => d.recvObject(0));
      const aborted = d.recvObject(0, { signal: stop.signal }); // has not begun
      stop.abort(new Error('enough'));
      await assert.rejects(aborted, { message: 'enough' });
      assert.deepEqual(await Promise.all(waiting), values);
    }
    if (rank === 0) await d.sendObject('fourth', 1);
    else assert.equal(await d.recvObject(0), 'fourth');
    if (rank === 1) {
      const stop = new AbortController();
      const waiting = d.recvObject(0, { signal: stop.signal, tag: 3 });
      const next = assert.rejects(d.recvObject(0, { tag: 3 }), { ...lost, message: /use another tag/ });
      await new Promise(setImmediate); // it has begun
      stop.abort(new Error('enough'));
      await assert.rejects(waiting, { message: 'enough' });
      await next;
    }
    await d.barrier();
  },
  /** Destroying a group ends what waits in it. */
  async destroys() {
    await join();
    if (rank === 0) {
      const waiting = assert.rejects(d.recv(torch.ones([4]), 1), { ...lost, message: /destroyed/ });
      await d.destroyProcessGroup();
      await waiting;
    } else await assert.rejects(d.recv(torch.ones([4]), 0), lost);
  },
  /** A step whose parameters another rank has: the error names the optimizer. */
  async step() {
    await join();
    if (rank === 1) return;
    const optimizer = new d.optim.ZeroRedundancyOptimizer([torch.ones([4], { requiresGrad: true })], torch.optim.SGD, {
      lr: 0.1,
    });
    assert.throws(() => optimizer.step(), { ...lost, op: 'distributed.optim.ZeroRedundancyOptimizer.step' });
  },
  /** A worker that is terminated with a collective in progress. */
  async worker() {
    if (rank === 1) return cases.destroys();
    const source = `
      const { workerData, parentPort } = require('node:worker_threads');
      const torch = require(workerData.library);
      const d = torch.distributed;
      d.initProcessGroup(workerData.options).then(() => {
        d.recv(torch.ones([4]), 1).catch(() => {});
        parentPort.postMessage('waits');
      });`;
    const library = new URL('../../../dist/lib/index.js', import.meta.url).pathname;
    const options = { initMethod, rank, worldSize, timeoutMs: 60_000 };
    const worker = new Worker(source, { eval: true, workerData: { library, options } });
    await new Promise((resolve) => worker.once('message', resolve));
    await worker.terminate();
  },
};

await cases[name]();
console.log('done');
