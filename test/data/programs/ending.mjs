/**
 * Disposes of a loader whose worker has answered the end of its pass and then cannot be stopped for a while. Prints `disposed`.
 */
import { spawnSync } from 'node:child_process';
import { parentPort } from 'node:worker_threads';
import torch from 'libtorch-node';

/** In the worker: a thread in a system call is terminated only after it. */
export function blocking(cells) {
  const blocked = new Int32Array(cells);
  const block = () => {
    Atomics.store(blocked, 0, 1);
    Atomics.notify(blocked, 0);
    spawnSync('sleep', ['2']);
  };
  parentPort.on('message', ({ type }) => {
    if (type === 'end') setImmediate(() => setImmediate(block)); // behind the answer
  });
  return { length: 1, getItem: (index) => torch.tensor([index]) };
}

if (parentPort === null) {
  const blocked = new Int32Array(new SharedArrayBuffer(4));
  const controller = new AbortController();
  const loader = new torch.utils.data.DataLoader([0], {
    numWorkers: 1,
    worker: { module: import.meta.url, export: 'blocking', args: [blocked.buffer] },
    signal: controller.signal,
  });
  try {
    for await (const batch of loader) {
      torch.disposeAll(batch);
      controller.abort();
    }
  } catch {
    // The abort.
  }
  Atomics.wait(blocked, 0, 0);
  await loader.dispose();
  console.log('disposed');
}
