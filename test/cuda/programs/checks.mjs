/** Checks of one program on a device: all are run, and the exit status is 1 if one fails. */
import assert from 'node:assert/strict';
import torch from 'libtorch-node';

export const MIB = 2 ** 20;
const planned = [];

export const check = (title, body) => planned.push([title, body]);

/** Garbage is freed by collections, some of whose finalizers run in a later turn. */
export async function collected(isDone) {
  for (let i = 0; i < 100 && !isDone(); i++) {
    globalThis.gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { tensors, devices } = torch.memory();
  assert.ok(isDone(), `left: ${tensors} tensors, ${JSON.stringify(devices)}`);
}

/** The bytes of tensors with handles on the device. */
export const held = () => torch.memory().devices['cuda:0']?.bytes ?? 0;

export async function runAll(program) {
  for (const [title, body] of planned) {
    try {
      await body();
      const { allocatedBytes } = torch.cuda.memory();
      console.log(`✓ ${program}: ${title} (${torch.memory().tensors} tensors, ${allocatedBytes} bytes)`);
    } catch (error) {
      process.exitCode = 1;
      console.log(`✗ ${program}: ${title}\n${error.stack}`);
    }
  }
}
