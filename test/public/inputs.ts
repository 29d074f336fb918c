/** Tensors and helpers of both sides, for the comparisons of public functions. */
import { type Call, compare, toPython } from '../support/compare';
import { hasDimensionNames } from '../support/release';
import { untyped } from '../support/torch';

const wave = (count: number, shape: string, factor = 0.7) =>
  `torch.arange(${count}, { dtype: "float32" }).mul(${factor}).sin().view(${shape})`;

const javascript: Record<string, string> = {
  x: wave(6, '[2, 3]'),
  y: wave(6, '[2, 3]', 1.3),
  d: 'torch.arange(6, { dtype: "float64" }).cos().view([2, 3])',
  v: wave(7, '[7]'),
  one: 'torch.tensor(0.5)',
  sq: wave(9, '[3, 3]', 1.1),
  tall: wave(20, '[5, 4]', 2.3),
  // Of full rank, as a sine of equal steps is not.
  uneven: 'torch.arange(30, { dtype: "float32" }).mul(0.3).square().sin().view([6, 5])',
  sym: `${wave(9, '[3, 3]', 1.1)}.abs().add(torch.eye(3))`,
  i: 'torch.tensor([[3n, 1n, 3n], [1n, 1n, 3n]])',
  b: 'torch.tensor([[true, false, true], [false, false, true]])',
  c: 'torch.complex(torch.tensor([1., -2., 3.]), torch.tensor([0., 0.5, -1.]))',
  seq: wave(48, '[2, 3, 8]'),
  img: wave(64, '[2, 2, 4, 4]'),
  img3: wave(32, '[2, 4, 4]'),
  vol: wave(192, '[1, 2, 4, 6, 4]'),
  logits: wave(20, '[4, 5]', 0.9),
  classes: 'torch.tensor([1n, 0n, 4n, 2n])',
  ignored: 'torch.tensor([1n, -100n, 4n, 2n])',
  probs: `${wave(20, '[4, 5]', 0.9)}.softmax(1)`,
  other: `${wave(20, '[4, 5]', 1.7)}.softmax(1)`,
  w5: 'torch.tensor([0.5, 1, 2, 0.25, 1.5])',
  signs: 'torch.tensor([1., -1., 1., -1.])',
  row: 'torch.tensor([[1n, 3n, 0n, -1n, -1n], [0n, 2n, -1n, 1n, -1n], [4n, -1n, 0n, 0n, 0n], [2n, 1n, 0n, 3n, 4n]])',
  multi: 'torch.tensor([[1., 0., 1., 0., 0.], [0., 0., 1., 1., 0.], [1., 1., 0., 0., 1.], [0., 0., 0., 0., 1.]])',
  table: wave(12, '[6, 2]', 0.4),
  words: 'torch.tensor([[0n, 2n, 5n], [1n, 1n, 4n]])',
  flat: 'torch.tensor([0n, 2n, 5n, 1n, 1n, 4n])',
  starts: 'torch.tensor([0n, 2n, 2n])',
  c2: 'torch.tensor([0.5, 2])',
  c3: 'torch.tensor([0.5, 2, -1])',
  m2: 'torch.tensor([0.1, -0.2])',
  v2: 'torch.tensor([1.5, 0.7])',
  grid: `${wave(36, '[2, 3, 3, 2]', 0.3)}`,
  theta: 'torch.tensor([[[1., 0.2, 0.1], [0., 0.8, -0.3]]])',
  theta3: 'torch.tensor([[[1., 0.2, 0.1, 0.], [0., 0.8, -0.3, 0.1], [0.1, 0., 1., 0.]]])',
  cols: wave(64, '[2, 8, 4]', 0.2),
  samples: 'torch.full([2, 2, 2], 0.3)',
  samples3: 'torch.full([1, 2, 3], 0.3)',
  kernel: wave(36, '[2, 2, 3, 3]', 0.21),
  kernel1: wave(18, '[2, 3, 3]', 0.21),
  q: wave(24, '[3, 2, 4]', 0.5),
  k: wave(40, '[5, 2, 4]', 0.35),
  vv: wave(40, '[5, 2, 4]', 0.45),
  wIn: wave(48, '[12, 4]', 0.15),
  bIn: wave(12, '[12]', 0.15),
  wOut: wave(16, '[4, 4]', 0.25),
  bOut: wave(4, '[4]', 0.25),
  bk: wave(4, '[1, 1, 4]', 0.9),
  kpm: 'torch.tensor([[false, false, true, false, true], [false, true, false, false, false]])',
  am: 'torch.tensor([[false, true, false, false, false], [false, false, false, false, true], [false, false, false, false, false]])',
  ctc: `${wave(60, '[6, 2, 5]', 0.8)}.logSoftmax(2)`,
  ctcTargets: 'torch.tensor([[1n, 2n, 3n], [4n, 1n, 2n]])',
  lengths: 'torch.tensor([6n, 5n])',
  targetLengths: 'torch.tensor([3n, 2n])',
  signal: wave(40, '[2, 20]', 0.37),
  hann: 'torch.hannWindow(8)',
  sparse: 'torch.tensor([[0., 2., 0.], [3., 0., 4.]]).toSparse()',
  ...(hasDimensionNames ? { named: 'torch.zeros([2, 3], { names: ["N", "C"] })' } : {}),
};

const pythonName = (name: string) => name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase();
const special: Record<string, string> = {
  c: 'torch.tensor([1., -2.+.5j, 3.-1j])',
  one: 'torch.tensor(0.5)',
};

const inputs: Record<string, Call> = Object.fromEntries(
  Object.entries(javascript).map(([name, js]) => [name, [js, special[name] ?? toPython(js)]]),
);

/** Seeds first, so that both sides draw the same random numbers. */
function seeded<T>(fn: () => T): T {
  untyped.manualSeed(7);
  return fn();
}

/** The matrix that a decomposition reconstructs. */
const rebuilt = ([u, s, v]: any[]) => u.mul(s).matmul(v.mT);

/** The gradients of the sum of what `fn` gives (its first tensor) with respect to copies of the tensors. */
function grads(fn: (...leaves: any[]) => any, ...tensors: any[]): unknown[] {
  const leaves = tensors.map((tensor) => {
    const leaf = tensor.detach().clone();
    leaf.requiresGrad = true;
    return leaf;
  });
  const result = fn(...leaves);
  (Array.isArray(result) ? result[0] : result).sum().backward();
  return leaves.map((leaf) => leaf.grad);
}

/** Only JavaScript, if Python's text can be derived from it, or both. */
export type Line = string | Call;

/** Runs the calls on both sides; all must agree. */
export async function expectPyTorchs(lines: readonly Line[]): Promise<{ failed: string[]; counted: number }> {
  const names = Object.fromEntries(Object.entries(inputs).map(([name, [js, py]]) => [name, [js, py] as Call]));
  const renamed = Object.keys(names).filter((name) => pythonName(name) !== name);
  const calls = lines.map((line): Call => {
    let [js, py] = typeof line === 'string' ? [line, toPython(line)] : line;
    // Python sees the inputs under the names of JavaScript.
    for (const name of renamed) py = py.replaceAll(new RegExp(`\\b${pythonName(name)}\\b(?!=)`, 'g'), name);
    return [js, py];
  });
  const { wrong, failed, counted } = await compare(names, calls, { seeded, grads, rebuilt });
  expect(wrong).toEqual([]);
  return { failed, counted };
}
