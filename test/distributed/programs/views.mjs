/**
 * `node views.mjs method rank size`: what torch.memory() counts of the gradients of DistributedDataParallel, to the byte, with and
 * without `gradientAsBucketView`. Prints 'done'.
 */
import assert from 'node:assert/strict';
import torch from '../../../dist/lib/index.mjs';

const { nn, distributed: d } = torch;
const [initMethod, rankText, sizeText] = process.argv.slice(2);
torch.setNumThreads(1);
await d.initProcessGroup({ initMethod, rank: Number(rankText), worldSize: Number(sizeText), timeoutMs: 60_000 });

const LAYERS = 8;
const WEIGHT_BYTES = 2 ** 19; // two fill a bucket of 1 MiB
const WIDTH = Math.sqrt(WEIGHT_BYTES / 4 / 2);
const held = () => {
  const { tensors, storages, bytes } = torch.memory();
  return { tensors, storages, bytes };
};

/** By step: in the first backward all gradients are one bucket, and then two of them fill one. */
const BUCKETS = [1, LAYERS / 2, LAYERS / 2, LAYERS / 2];
const shapeOf = (i) => (i % 2 === 0 ? [WIDTH, 2 * WIDTH] : [2 * WIDTH, WIDTH]);

for (const gradientAsBucketView of [true, false]) {
  const net = new nn.Sequential(...Array.from({ length: LAYERS }, (_, i) => new nn.Linear(...shapeOf(i), false)));
  const ddp = new nn.parallel.DistributedDataParallel(net, { bucketCapMb: 1, gradientAsBucketView });
  const x = torch.ones([2, WIDTH]);
  const parameters = ddp.parameters();
  for (const [step, buckets] of BUCKETS.entries()) {
    const before = held();
    torch.scope(() => ddp.forward(x).sum().backward());
    const grads = parameters.map((parameter) => parameter.grad);
    const after = held();
    const added = Object.fromEntries(Object.keys(before).map((key) => [key, after[key] - before[key]]));
    // Each bucket is one storage, whose bytes are those of the gradients in it.
    const storages = gradientAsBucketView ? buckets : LAYERS;
    const what = `step ${step}, views ${gradientAsBucketView}`;
    assert.deepEqual(added, { tensors: LAYERS, storages, bytes: LAYERS * WEIGHT_BYTES }, what);
    ddp.module.zeroGrad({ setToNone: true });
    torch.disposeAll(grads);
    assert.deepEqual(held(), before, what);
  }
  ddp.dispose();
}
await d.destroyProcessGroup();
console.log('done');
