import assert from 'node:assert/strict';
import { test } from 'node:test';
import torch from 'libtorch-node';
import { assertNoTensorLeaks } from 'libtorch-node/testing';
import { VectorCache } from '../src/cache.js';
import { Comparer } from '../src/job.js';

test('similar documents are similar', () => {
  const comparer = new Comparer(10);
  assert.ok(comparer.similarity('the same words', 'the same words') > 0.999);
  assert.ok(comparer.similarity('the same words', 'quick zebras jump') < 0.5);
  comparer.dispose();
});

test('the cache keeps its limit, and disposes of what it drops', () => {
  const cache = new VectorCache(2);
  const [a, b, c] = ['a', 'b', 'c'].map((key) => cache.get(key, () => torch.ones([4])));
  assert.deepEqual([cache.size, a!.disposed, b!.disposed, c!.disposed], [2, true, false, false]);
  cache.get('b', () => assert.fail('b is in the cache'));
  cache.get('d', () => torch.ones([4]));
  assert.deepEqual([b!.disposed, c!.disposed], [false, true]);
  cache.dispose();
  assert.ok(b!.disposed);
});

test('comparing leaves no tensor behind once the cache is full', async () => {
  const comparer = new Comparer(4);
  let n = 0;
  await assertNoTensorLeaks(() => comparer.similarity(`document ${n++}`, 'the same document'), { warmup: 10 });
  comparer.dispose();
});

test('a cache without a limit is found', async () => {
  const comparer = new Comparer(Number.POSITIVE_INFINITY);
  let n = 0;
  await assert.rejects(
    assertNoTensorLeaks(() => comparer.similarity(`document ${n++}`, 'the same document')),
    { code: 'ERR_TORCH_LEAK' },
  );
  comparer.dispose();
});
