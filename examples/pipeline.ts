/**
 * An asynchronous pipeline: reading, computing and writing overlap, and each item has its own scope, which frees the item's
 * tensors after its last step. `node examples/pipeline.js`
 */
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import torch, { type Tensor } from 'libtorch-node';

const FILES = 12;
const AT_ONCE = 4;
const SIZE = 256;

interface Result {
  name: string;
  mean: number;
  digest: string;
}

/** Processes one item: about a megabyte of tensors, alive while it waits for the disk. */
const work = (folder: string, name: string): Promise<Result> =>
  torch.scope(async () => {
    const bytes = await readFile(path.join(folder, name));
    const matrix = torch.fromTypedArray(new Float32Array(Uint8Array.from(bytes).buffer), [SIZE, SIZE]);
    const gram: Tensor<'float32', [number, number]> = matrix.T.matmul(matrix).div(SIZE);
    const floats = gram.toTypedArray();
    await writeFile(path.join(folder, `${name}.out`), new Uint8Array(floats.buffer));
    // After every await, the scope is still this item's.
    return {
      name,
      mean: gram.diagonal().mean().item() as number,
      digest: createHash('sha256').update(floats).digest('hex').slice(0, 8),
    };
  });

async function main(): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'pipeline-'));
  try {
    torch.manualSeed(5);
    const names = Array.from({ length: FILES }, (_, i) => `part-${String(i).padStart(2, '0')}`);
    for (const [i, name] of names.entries()) {
      const values = torch.scope(() =>
        torch
          .randn([SIZE, SIZE])
          .mul(i + 1)
          .toTypedArray(),
      );
      await writeFile(path.join(folder, name), values);
    }
    const before = torch.memory().tensors;
    let most = 0;
    const queue = [...names];
    const results: Result[] = [];
    const worker = async () => {
      for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
        const result = work(folder, name);
        most = Math.max(most, torch.memory().tensors - before);
        results.push(await result);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    results.sort((a, b) => a.name.localeCompare(b.name));
    for (const { name, mean, digest } of results.slice(0, 3))
      console.log(`${name}: mean ${mean.toFixed(2)}, ${digest}`);
    console.log(`${results.length} parts, ${AT_ONCE} at once`);
    console.log(`tensors left: ${torch.memory().tensors - before}`);
  } finally {
    await rm(folder, { recursive: true });
  }
}

void main();
