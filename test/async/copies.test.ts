/** Two copies of the library over one addon, as Jest makes for each test file: each gets its own results. */
import { ask } from '../support/child';
import { LIB } from '../support/torch';

test('promises of both copies settle, and their chains do not mix', async () => {
  const answers = await ask(`
    for (const name of Object.keys(require.cache)) if (name.startsWith(${JSON.stringify(LIB)}) && !name.endsWith('.node')) delete require.cache[name];
    const other = require(${JSON.stringify(`${LIB}/index.js`)});
    if (other === torch) throw new Error('one copy');
    const a = torch.ones([2]), b = other.ones([3]);
    const chain = (lib, x, n) => lib.run(async (t) => {
      let y = t.add(x, n);
      if ((await y.sum().item()) < 0) throw new Error();
      y = t.cat([y, x]);
      return y.mul(2);
    });
    (async () => {
      const first = await torch.async.add(a, 1);
      const second = await other.async.add(b, 2);
      const all = await Promise.all(Array.from({ length: 20 }, (_, i) => (i % 2 ? chain(torch, a, i) : chain(other, b, i))));
      answer([first.toArray(), second.toArray(), all.map((t) => t.toArray())]);
    })();
  `);
  const wanted = Array.from({ length: 20 }, (_, i) => {
    const n = i % 2 ? 2 : 3;
    return [...Array(n).fill(2 * (1 + i)), ...Array(n).fill(2)];
  });
  expect(answers).toEqual([[2, 2], [3, 3, 3], wanted]);
});

test('the addon loaded twice on one thread: the hooks of each copy are called', async () => {
  const answers = await ask(`
    for (const name of Object.keys(require.cache)) delete require.cache[name];
    const other = require(${JSON.stringify(`${LIB}/index.js`)});
    if (other.ones([1]) instanceof torch.Tensor) throw new Error('one copy');
    const made = [torch, other].map((lib) => {
      const x = lib.ones([2], { requiresGrad: true });
      const called = [];
      x.registerHook((gradient) => void called.push(gradient.toArray()));
      return { y: x.mul(2).sum(), called };
    });
    for (const { y } of made) y.backward();
    answer(made.map(({ called }) => called));
  `);
  expect(answers).toEqual([[[2, 2]], [[2, 2]]]);
});
