/**
 * Ops whose tensors require no gradient go past autograd's kernels (native/ops/below_autograd.h): what they leave for autograd,
 * such as views and versions, is as if they had not.
 */
import { torch } from '../support/torch';

const { noGrad, inferenceMode, scope } = torch;

const leaf = (...sizes: number[]) => torch.ones(sizes, { requiresGrad: true });

test('a view that was made before its base joined a graph is in the graph', () =>
  scope(() => {
    const base = torch.zeros([4]);
    const view = base.view([2, 2]);
    expect([view.requiresGrad, view.isLeaf]).toEqual([false, true]);
    const weight = leaf(2, 2);
    view.mul_(2).add_(weight);
    expect([base.requiresGrad, view.requiresGrad]).toEqual([true, true]);
    base.mul(3).sum().backward();
    expect(weight.grad!.toArray()).toEqual([
      [3, 3],
      [3, 3],
    ]);
  }));

test('a write through a view counts as a version of its base', () =>
  scope(() => {
    const base = torch.zeros([4]);
    const [view, chain, part] = [base.view([2, 2]), base.view([2, 2]).t().select(0, 1), base.split(2)[1]!];
    const before = base._version;
    for (const each of [view, chain, part]) each.add_(1);
    expect(base._version).toBe(before + 3);
    const saved = leaf(4);
    const product = saved.mul(base); // keeps base for the backward
    view.add_(1);
    expect(() => product.sum().backward()).toThrow(/modified by an inplace operation/);
  }));

test('a result can be written to, and has the version 0', () =>
  scope(() => {
    const sum = torch.ones([2]).add(torch.ones([2]));
    expect(sum._version).toBe(0);
    sum.add_(leaf(2));
    expect([sum._version, sum.requiresGrad, sum.isLeaf]).toEqual([1, true, false]);
  }));

test('parameters under noGrad: the results are leaves, and views of a parameter refuse writes with gradients', () =>
  scope(() => {
    const weight = leaf(2, 2);
    const [product, view] = noGrad(() => [weight.mm(weight), weight.view([4])] as const);
    expect([product.requiresGrad, product.gradFn]).toEqual([false, null]);
    expect(() => view.mul_(leaf(4))).toThrow(/created in noGrad mode/);
    expect(weight.mm(weight).requiresGrad).toBe(true);
  }));

test('one of several views refuses a write that would need a graph', () =>
  scope(() => {
    const [first] = torch.ones([2, 3]).unbind(0);
    expect(() => first!.mul_(leaf(3))).toThrow(/one of the|multiple views/);
  }));

test('inference tensors stay what they are', () =>
  scope(() => {
    const inside = inferenceMode(() => torch.ones([2]).add(1));
    expect(inside.isInference()).toBe(true);
    expect(torch.ones([2]).add(1).isInference()).toBe(false);
    expect(() => inside.mul(leaf(2))).toThrow(/Inference tensors cannot be saved/);
  }));

test('autocast casts, also what requires no gradient', () =>
  scope(() => {
    const a = torch.ones([2, 2]);
    expect(torch.autocast({ device: 'cpu' }, () => a.mm(a)).dtype).toBe('bfloat16');
    expect(a.mm(a).dtype).toBe('float32');
  }));

test('complex numbers that are conjugated lazily', () =>
  scope(() => {
    const z = torch.complex(torch.tensor([1, 2]), torch.tensor([3, 4]));
    expect(String(z.conj().add(z).toArray())).toBe(String(z.conj().resolveConj().add(z).toArray()));
  }));
