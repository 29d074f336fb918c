/** Composed functions only leave their results: in scopes, outside them, with and without gradients. */
import { ask as askWithWarnings } from '../support/child';
import { limitMs } from '../support/sanitized';
import { LIB } from '../support/torch';

const ask = (source: string) => askWithWarnings(source, ['--no-warnings']);

/** Calls over `x`, `y`, `img`, … each of which makes intermediate tensors. */
const program = (body: string) => `
  const F = torch.nn.functional;
  const { collectAll } = require(${JSON.stringify(`${LIB}/memory/collector.js`)});
  ${body}
`;

const calls = `
  const wave = (...shape) => torch.arange(shape.reduce((a, b) => a * b, 1), { dtype: 'float32' }).sin().view(shape);
  const kept = torch.scope(() => ({
    x: wave(2, 3), y: wave(2, 3).add(1), img: wave(2, 2, 4, 4), i: torch.tensor([3n, 1n, 3n]),
    q: wave(3, 2, 4), w: wave(12, 4), o: wave(4, 4), words: torch.tensor([[0n, 1n], [1n, 1n]]), signal: wave(2, 20),
  }));
  const { x, y, img, i, q, w, o, words, signal } = kept;
  const calls = [
    [1, () => F.softsign(x)], [1, () => F.softmin(x, 1)], [1, () => F.gumbelSoftmax(x, 1, true)],
    [1, () => F.normalize(x)], [1, () => F.localResponseNorm(img, 2)], [1, () => F.mseLoss(x, y.select(0, 0))],
    [1, () => F.gaussianNllLoss(x, y, x.exp())], [1, () => F.klDiv(x, y, { reduction: 'batchmean' })],
    [1, () => F.multilabelSoftMarginLoss(x, y)], [1, () => F.tripletMarginWithDistanceLoss(x, y, x)],
    [1, () => F.lpPool2d(img, 2, 2)], [1, () => F.adaptiveMaxPool2d(img, [null, 1])],
    [2, () => F.maxPool2d(img, 2, { returnIndices: true })], [2, () => F.fractionalMaxPool2d(img, 2, 2, { returnIndices: true })],
    [1, () => F.embedding(words, x, { maxNorm: 0.5 })], [1, () => F.embeddingBag(words, x)],
    [2, () => F.multiHeadAttentionForward(q, q, q, 4, 2, w, null, null, null, true, 0.1, o, null)],
    [1, () => F.dropout1d(x)], [0, () => F.dropout1d(x, { inplace: true, training: false })],
    [1, () => torch.unique(i)], [2, () => torch.unique(i, { returnCounts: true })], [1, () => i.uniqueConsecutive()],
    [2, () => torch.lu(o)], [3, () => torch.svdLowrank(o, 2)], [3, () => torch.pcaLowrank(o, 2)],
    [1, () => torch.stft(signal, 8, { returnComplex: true })], [1, () => x.newTensor(y)],
    [2, () => [...x]], [0, () => x.clone().apply_((e) => e).dispose()],
  ];
  const failing = [
    () => F.multiHeadAttentionForward(q, q, q, 4, 2, w, null, null, null, false, 0, x, null),
    () => F.tripletMarginWithDistanceLoss(x, y, x, { distanceFunction: () => { throw new Error('mine'); } }),
    () => F.gaussianNllLoss(x, y, x), () => torch.stft(signal, 99), () => torch.svdLowrank(o, 99), () => torch.pcaLowrank(o, 99),
  ];
`;

/** Tensors that the expressions themselves make, besides the function's. */
const TEMPORARIES = { 5: 1, 6: 1 };

test('in a scope only the results exist when the function returns', async () => {
  const left = await ask(
    program(`${calls}
    answer(torch.scope(() => calls.map(([, call]) => {
      const before = torch.memory().tensors;
      call();
      return torch.memory().tensors - before;
    })));
  `),
  );
  const expected = await ask(program(`${calls} answer(calls.map(([count]) => count));`));
  Object.entries(TEMPORARIES).forEach(([at, count]) => {
    expected[at] += count;
  });
  expect(left).toEqual(expected);
});

test('outside every scope the results belong to the collector, and the rest is freed at once', async () => {
  const { after, grown } = await ask(
    program(`${calls}
    collectAll();
    const before = torch.memory();
    for (let n = 0; n < 20; n++) for (const [, call] of calls) call();
    for (let n = 0; n < 20; n++) for (const call of failing) { try { call(); } catch {} }
    const limit = Date.now() + ${limitMs(15_000)};
    // V8's compiler runs concurrently and may hold some garbage while it compiles a function.
    (function look() {
      collectAll();
      const now = torch.memory();
      const [after, grown] = [now.tensors - before.tensors, now.bytes - before.bytes];
      if ((after !== 0 || grown !== 0) && Date.now() < limit) setTimeout(look, 5);
      else answer({ after, grown });
    })();
  `),
  );
  expect({ after, grown }).toEqual({ after: 0, grown: 0 });
});

test('with gradients only the graph keeps its tensors, until it is freed', async () => {
  const { left, bytes } = await ask(
    program(`${calls}
    const leaf = torch.ones([2, 3]);
    leaf.requiresGrad = true;
    const step = () => torch.scope(() => {
      F.normalize(leaf).add(F.softsign(leaf)).add(F.gumbelSoftmax(leaf)).sum().backward();
      F.tripletMarginWithDistanceLoss(leaf, y, x, { swap: true }).backward();
    });
    step();
    const before = torch.memory();
    for (let n = 0; n < 50; n++) step();
    const now = torch.memory();
    answer({ left: now.tensors - before.tensors, bytes: now.allocatedBytes - before.allocatedBytes });
  `),
  );
  expect({ left, bytes }).toEqual({ left: 0, bytes: 0 });
});

test('a failed call releases its tensors', async () => {
  const left = await ask(
    program(`${calls}
    answer(torch.scope(() => failing.map((call) => {
      const before = torch.memory().tensors;
      try { call(); return 'no error'; } catch { return torch.memory().tensors - before; }
    })));
  `),
  );
  expect(left).toEqual([0, 0, 0, 0, 0, 0]);
});

test('rows of an iteration live as long as those of unbind', async () => {
  const { sum, inside, after, rows, again } = await ask(
    program(`
    const t = torch.tensor([[1, 2], [3, 4], [5, 6]]);
    let sum = 0;
    let inside = 0;
    const before = torch.memory().tensors;
    torch.scope(() => {
      for (const row of t) {
        sum += row.sum().item();
        inside = Math.max(inside, torch.memory().tensors - before);
        if (sum > 5) break;
      }
    });
    const after = torch.memory().tensors - before;
    const rows = torch.scope(() => [...t]).map((row) => row.disposed);
    answer({ sum, inside, after, rows, again: [...t].map((row) => row.toArray()) });
  `),
  );
  expect({ sum, inside, after }).toEqual({ sum: 10, inside: 5, after: 0 });
  expect(rows).toEqual([false, false, false]);
  expect(again).toEqual([
    [1, 2],
    [3, 4],
    [5, 6],
  ]);
});
