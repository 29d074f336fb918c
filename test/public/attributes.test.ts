/** Attributes of PyTorch's Tensor in Python are properties here, and methods are methods. */
import * as path from 'node:path';
import type { Tensor } from '../../lib/tensor/tensor';
import { python3 } from '../support/python3';
import { balanced, LIB, ROOT, thrown, torch } from '../support/torch';

interface Told {
  attributes: string[];
  methods: string[];
  values: Record<string, unknown[]>;
}
const { camelCase } = require(path.join(LIB, 'call/signature.js')) as { camelCase(name: string): string };
const prototype = torch.Tensor.prototype as object;

let told: Told;
beforeAll(async () => {
  const { code, stdout, stderr } = await python3([path.join(ROOT, 'test/public/attributes.py')]);
  if (code !== 0) throw new Error(`attributes.py (it needs PyTorch): ${stderr}`);
  told = JSON.parse(stdout);
});

/** The exceptions listed in docs/from-pytorch.md. */
const opsAsMethods = ['real', 'imag', 'data'];
const methodsAsProperties = ['numel'];

/** An accessor that gives a method refuses assignments to it (lib/call/operators.ts). */
const givesMethod = (name: string) =>
  opsAsMethods.includes(name) && typeof (prototype as Record<string, unknown>)[name] === 'function';
const isProperty = (name: string) =>
  Object.getOwnPropertyDescriptor(prototype, name)?.get !== undefined && !givesMethod(name);
const isMethod = (name: string) => {
  const found = Object.getOwnPropertyDescriptor(prototype, name);
  return typeof found?.value === 'function' || givesMethod(name);
};

it('every attribute of Python is a property here, with exceptions', () => {
  expect(told.attributes).toEqual(expect.arrayContaining(['is_leaf', 'is_cuda', 'shape', 'requires_grad', '_version']));
  const methods = told.attributes.filter((name) => isMethod(camelCase(name)));
  expect(methods.sort()).toEqual(opsAsMethods.sort());
  const properties = told.attributes.filter((name) => isProperty(camelCase(name)));
  expect(properties.length).toBeGreaterThanOrEqual(20);
});

it('every method of Python is a method here, with exceptions', () => {
  const properties = told.methods.filter((name) => isProperty(camelCase(name)));
  expect(properties).toEqual(methodsAsProperties);
  expect(told.methods.filter((name) => isMethod(camelCase(name))).length).toBeGreaterThan(400);
});

it('predicates are methods or properties as in Python', () => {
  for (const name of ['isContiguous', 'isFloatingPoint', 'isComplex', 'isSigned', 'isConj', 'isNeg', 'isInference'])
    expect([name, isMethod(name)]).toEqual([name, true]);
  for (const name of ['isLeaf', 'isCuda', 'isCpu', 'isMeta', 'isSparse', 'isSparseCsr', 'isMkldnn', 'isQuantized'])
    expect([name, isProperty(name)]).toEqual([name, true]);
});

it('isLeaf, requiresGrad, retainsGrad, outputNr and _version are those of Python', () => {
  balanced(() =>
    torch.scope(() => {
      const { values } = told;
      const of = (t: Tensor) => [t.isLeaf, t.requiresGrad, t.retainsGrad, t.outputNr];
      const leaf = torch.ones([4], { requiresGrad: true });
      const made = leaf.mul(2);
      const [first, second] = leaf.split(2) as [Tensor, Tensor];
      const kept = leaf.mul(2);
      kept.retainGrad();
      const leafKept = torch.ones([4], { requiresGrad: true });
      leafKept.retainGrad();
      const joined = torch.ones([4]);
      const before = joined._version;
      joined.add_(1);
      joined.add_(leaf);
      const here: Record<string, unknown[]> = {
        plain: of(torch.ones([4])),
        leaf: of(leaf),
        made: of(made),
        first: of(first),
        second: of(second),
        detached: of(made.detach()),
        within: of(torch.noGrad(() => leaf.mul(2)) as Tensor),
        view: of(torch.noGrad(() => leaf.at(torch.slice(0, 2))) as Tensor),
        kept: of(kept),
        leafKept: of(leafKept),
        joined: of(joined),
        inferred: of(torch.inferenceMode(() => leaf.mul(2)) as Tensor),
        writes: [joined._version - before],
      };
      expect(here).toEqual(values);
    }),
  );
});

it('on other objects, and on disposed and pending tensors, they throw', async () => {
  const names = ['isLeaf', 'retainsGrad', 'outputNr', '_version'] as const;
  const gone = torch.ones([2]);
  gone.dispose();
  for (const name of names) {
    expect([name, thrown(() => gone[name]).code]).toEqual([name, 'ERR_TORCH_DISPOSED']);
    expect([name, thrown(() => Reflect.get(prototype, name, {})).code]).toEqual([name, 'ERR_TORCH_ARGUMENT']);
  }
  const x = torch.ones([2], { requiresGrad: true });
  await torch.run((t) => {
    const pending = t.mul(x, 2);
    for (const name of names) {
      const error = thrown(() => Reflect.get(pending, name));
      expect([name, error.code]).toEqual([name, 'ERR_TORCH_PENDING']);
      expect(error.message).toContain(`Tensor.${name}: the result is pending`);
    }
    expect([x.isLeaf, x.outputNr]).toEqual([true, 0]);
    return pending;
  });
  x.dispose();
});

it('T reverses all dimensions, as in Python', () => {
  balanced(() =>
    torch.scope(() => {
      for (const shape of [[], [3], [2, 3], [2, 3, 4], [2, 3, 4, 5]]) {
        const x = torch.rand(shape);
        expect(x.T.shape).toEqual([...shape].reverse());
        expect(x.T.T.equal(x)).toBe(true);
      }
    }),
  );
});
