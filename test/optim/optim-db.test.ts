/** PyTorch's own table of inputs for its tests of optimizers: parameters and states to the bit, and what it refuses. */
import * as path from 'node:path';
import { python3 } from '../support/python3';
import { release } from '../support/release';
import { ROOT, torch, untyped } from '../support/torch';
import { foreachDiffers, type Input } from './inputs';
import { camelCase, optionsOf, oracle, plain } from './oracle';
import { advance, make, paramsOf, STEPS, start } from './runs';

jest.setTimeout(900_000);

interface Entry {
  name: string;
  closure: boolean;
  sparse: boolean;
  inputs: { desc: string; options: Record<string, unknown> }[];
  refused: { desc: string; params: unknown; options: Record<string, unknown>; step: boolean; warns: boolean }[];
}

/** Python 1.13 does not have the table; test/optim/python.test.ts has its calls that 1.13 takes too. */
const hasTable = release !== '1.13';
let table: Entry[] | null;
beforeAll(async () => {
  const script = path.join(ROOT, 'test/optim/optim_db.py');
  const { stdout, stderr, code } = await python3([script]);
  const line = /^TABLE (.*)$/m.exec(stdout)?.[1];
  if (line === undefined) throw new Error(`optim_db.py failed (${code}): ${stderr}`);
  table = JSON.parse(line);
});

/** Its steps are for matrices. */
const matrices = {
  shapes: [
    [4, 3],
    [7, 2],
    [5, 5],
  ],
};

/** For the CPU the table does not have `foreach`. */
const withForeach = (name: string, options: Record<string, unknown>): Record<string, unknown>[] =>
  foreachDiffers.includes(name) && options.differentiable !== true && options.fused !== true
    ? [options, { ...options, foreach: true }]
    : [options];

const casesOf = ({ name, closure, sparse, inputs }: Entry): (Input & { resumes: boolean })[] =>
  inputs
    .flatMap(({ options }) => withForeach(name, options))
    .map((options) => ({
      ...{ name, options, closure, sparse, resumes: false },
      ...(name === 'Muon' ? matrices : {}),
    }));

/** A value that optim_db.py has printed; a tensor that is there twice is one tensor. */
function decoded(value: any, known: Map<number, any>): any {
  if (Array.isArray(value)) return value.map((one) => decoded(one, known));
  if (typeof value !== 'object' || value === null) return value;
  if (value.tensor === undefined) {
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [camelCase(name), decoded(one, known)]));
  }
  const { number, dtype, shape, data, sparse, leaf, grad } = value.tensor;
  const made = (): any => {
    if (sparse) return untyped.zeros(shape, { dtype }).toSparse();
    const tensor = data === null ? untyped.randn(shape, { dtype }) : untyped.tensor(data, { dtype }).reshape(shape);
    if (leaf) tensor.requiresGrad_();
    if (grad) tensor.grad = untyped.randn(shape, { dtype });
    return tensor;
  };
  if (!known.has(number)) known.set(number, made());
  return known.get(number);
}

/** Of the first step: later ones change what it needs for its gradients, in Python too. */
function gradientsThroughStep(input: Input): any {
  const leaves = start(input);
  const params = paramsOf(input, leaves);
  advance(input, params, make(input, params), 0, 1);
  const sum = params.map((param) => param.sum()).reduce((one, other) => one.add(other));
  return untyped.autograd.grad([sum], leaves, { allowUnused: true });
}

const usual = () => untyped.zeros([2, 2]).requiresGrad_();

test('this release of PyTorch has the table, except 1.13', () => {
  expect(table !== null).toBe(hasTable);
  // The optimizers of the table are those of torch.optim here, with every libtorch.
  for (const { name } of table ?? []) expect([name, typeof untyped.optim[name]]).toEqual([name, 'function']);
});

const ifTable = hasTable ? test : () => {};

ifTable('parameters, states and gradients through a step are those of Python', async () => {
  const threads = torch.getNumThreads();
  torch.setNumThreads(1);
  try {
    const cases = (table ?? []).flatMap(casesOf);
    const ours = cases.map((input) => {
      const leaves = start(input);
      const params = paramsOf(input, leaves);
      const optimizer = make(input, params);
      advance(input, params, optimizer, 0, STEPS);
      const after = { params: plain(params), dict: plain(optimizer.stateDict()) };
      if (input.options.differentiable !== true) return after;
      return { ...after, through: plain(gradientsThroughStep(input)) };
    });
    const { optimized } = await oracle({ optimize: cases });
    const wrong = cases.filter((_, n) => {
      try {
        expect(ours[n]).toEqual(optimized[n]);
        return false;
      } catch {
        return true; // all of them are of interest, not only the first
      }
    });
    expect(wrong).toEqual([]);
  } finally {
    torch.setNumThreads(threads);
  }
});

ifTable('what Python refuses is refused with a code', () => {
  const wrong: string[] = [];
  for (const { name, refused } of table ?? []) {
    for (const { desc, params, options, step, warns } of refused) {
      const known = new Map<number, any>();
      const given = params === null ? [usual()] : decoded(params, known);
      let optimizer: any;
      let code: unknown;
      try {
        optimizer = new untyped.optim[name](given, optionsOf(decoded(options, known)));
        if (step) optimizer.step();
      } catch (error) {
        code = (error as { code?: unknown }).code;
      }
      const isRefused = step
        ? code === 'ERR_TORCH_RUNTIME'
        : code === 'ERR_TORCH_ARGUMENT' || code === 'ERR_TORCH_RUNTIME';
      if (isRefused === warns) wrong.push(`${name}: ${desc}: ${code}`);
      optimizer?.dispose();
    }
  }
  expect(wrong).toEqual([]);
});
