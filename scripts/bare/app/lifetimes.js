/** Scopes, views, disposal, the bytes that V8 is told of, and workers that end in the middle. */
const assert = require('node:assert/strict');
const { isMainThread, parentPort, Worker } = require('node:worker_threads');
const torch = require('libtorch-node');

const MIB = 2 ** 20;
const mebibyte = () => torch.zeros([MIB / 4]);

/** Garbage is freed by collections, some of whose finalizers run in a later turn. */
async function collected(isDone) {
  for (let i = 0; i < 100 && !isDone(); i++) {
    globalThis.gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.ok(isDone(), `${torch.memory().tensors} tensors of ${torch.memory().bytes} bytes are left`);
}

async function main() {
  const kept = torch.scope(() => {
    const whole = mebibyte();
    return whole.slice(0, 0, 4);
  });
  assert.equal(torch.memory().tensors, 1);
  assert.equal(torch.memory().bytes, MIB); // the view holds the whole storage
  kept.dispose();
  assert.throws(() => kept.sum(), { code: 'ERR_TORCH_DISPOSED' });
  assert.equal(torch.memory().bytes, 0);

  const before = process.memoryUsage().external;
  let many = Array.from({ length: 32 }, mebibyte);
  const rise = process.memoryUsage().external - before;
  assert.ok(rise > 30 * MIB && rise < 40 * MIB, `external memory rose by ${rise} bytes`);
  assert.equal(many.length, 32);
  many = undefined;
  await collected(() => torch.memory().tensors === 0);

  for (let i = 0; i < 3; i++) {
    const worker = new Worker(__filename);
    await new Promise((resolve) => worker.once('message', resolve));
    await worker.terminate();
  }
  assert.equal(torch.ones([2, 3]).sum().item(), 6);
  console.log('lifetimes: ok');
}

if (isMainThread) main();
else {
  const tensors = Array.from({ length: 8 }, mebibyte);
  parentPort.postMessage(tensors.length);
  for (;;) torch.scope(() => tensors[0].add(1).sum().item());
}
