import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import torch from 'libtorch-node';
import { assertNoTensorLeaks } from 'libtorch-node/testing';
import { spirals } from '../src/data.js';
import { Net } from '../src/model.js';
import { accuracy, train } from '../src/train.js';

test('training separates the spirals', async () => {
  torch.manualSeed(1);
  const [points, unseen] = [spirals(200), spirals(100)];
  const net = new Net();
  const losses: number[] = [];
  await train(net, points, { epochs: 40, batchSize: 64, lr: 0.01, onEpoch: (_, loss) => losses.push(loss) });
  assert.equal(losses.length, 40);
  assert.ok(losses.at(-1)! < losses[0]! / 3, `the loss fell from ${losses[0]} to ${losses.at(-1)} only`);
  assert.ok(accuracy(net, unseen) > 0.9, `accuracy ${accuracy(net, unseen)}`);
});

test('a saved model gives the same results', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'model-'));
  try {
    const file = path.join(folder, 'model.pt');
    const [net, again] = [new Net(), new Net()];
    torch.save(net.stateDict(), file);
    again.loadStateDict(torch.load(file) as torch.nn.StateDict);
    const x = torch.randn([5, 2]);
    assert.ok(torch.equal(net.forward(x), again.forward(x)));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('training leaves no tensor behind', async () => {
  const points = spirals(20);
  const net = new Net();
  await assertNoTensorLeaks(() => train(net, points, { epochs: 1, batchSize: 20, lr: 0.01 }));
});
