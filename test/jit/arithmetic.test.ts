/** TorchScript's own ops on integers and texts, some of which end the process of PyTorch, or never come back. */
import { ask } from '../support/child';
import { MODELS_MS, makeModels, pathOf } from './models';

beforeAll(makeModels, MODELS_MS);

const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;

/** The result of a method, or the first line of its error: in a process of its own, which may end. */
async function results(calls: readonly [method: string, ...args: (bigint | string)[]][]): Promise<unknown[]> {
  const texts = calls.map(([method, ...args]) => {
    const given = args.map((arg) => (typeof arg === 'bigint' ? `${arg}n` : JSON.stringify(arg)));
    return `() => model.call('${method}', ${given.join(', ')})`;
  });
  return await ask(`
    const model = torch.jit.load(${JSON.stringify(pathOf('arithmetic'))});
    const shown = (value) => (Array.isArray(value) ? value.map(shown) : typeof value === 'bigint' ? \`\${value}n\` : value);
    answer([${texts.join(', ')}].map((call) => {
      try { return shown(call()); } catch (e) { return \`\${e.code}: \${e.message.split('\\n')[0]}\`; }
    }));
  `);
}

test('remainders and quotients that a processor cannot calculate', async () => {
  const noRest = expect.stringMatching(/^ERR_TORCH_RUNTIME: .*integer modulo by zero/);
  const tooLarge = expect.stringMatching(/^ERR_TORCH_RUNTIME: .*divided by -1 does not fit in 64 bits/);
  expect(
    await results([
      ['rest', 7n, 0n],
      ['rest', MIN, 0n],
      ['rest', MIN, -1n],
      ['quotient', MIN, -1n],
      ['both', MIN, -1n],
      ['divisor', MIN, -1n],
      ['divisor', -1n, MIN],
    ]),
  ).toEqual([noRest, noRest, 0, tooLarge, tooLarge, 1, 1]);
});

test('the others are as in Python', async () => {
  expect(
    await results([
      ['rest', 7n, 3n],
      ['rest', -7n, 3n],
      ['rest', 7n, -3n],
      ['rest', 7n, -1n],
      ['rest', MAX, MIN],
      ['quotient', -7n, 2n],
      ['quotient', 7n, -1n],
      ['both', -7n, 2n],
      ['both', 7n, -1n],
      ['divisor', 12n, -18n],
      ['divisor', 0n, 0n],
    ]),
  ).toEqual([1, 2, -2, 0, -1, -4, -7, [-4, 1], [-7, 0], 6, 0]);
});

test('a search for the empty text ends', async () => {
  expect(
    await results([
      ['count', 'abca', 'a'],
      ['parts', 'a-b', '-'],
      ['replaced', 'abca', 'a'],
      ['count', 'abc', ''],
      ['parts', 'abc', ''],
      ['replaced', 'abc', ''],
    ]),
  ).toEqual([2, ['a', 'b'], '-bc-', ...Array(3).fill(expect.stringMatching(/^ERR_TORCH_RUNTIME: .*empty/))]);
});
