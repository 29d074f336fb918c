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

test('a write in place counts as a version, and autograd sees it', () =>
  scope(() => {
    const written = torch.zeros([2, 3]);
    const view = written.view([6]);
    const before = written._version;
    written
      .add_(1)
      .mul_(torch.ones([3]))
      .zero_();
    expect([written._version - before, view._version - before]).toEqual([3, 3]);
    const saved = leaf(2, 3);
    const product = saved.mul(written);
    written.clamp_(0, 1);
    expect(() => product.sum().backward()).toThrow(/modified by an inplace operation/);
    expect(written.transpose_(0, 1)).toBe(written);
    expect([written.shape, written._version - before]).toEqual([[3, 2], 5]);
    written.add_(leaf(3, 2));
    expect([written.requiresGrad, view.requiresGrad]).toEqual([true, true]);
  }));

test('a leaf refuses a write in place, but under noGrad', () =>
  scope(() => {
    const weight = leaf(2);
    expect(() => weight.add_(1)).toThrow(/a leaf tensor that requires grad is changed in place/);
    const before = weight._version;
    noGrad(() => weight.sub_(torch.ones([2])));
    expect([weight._version, weight.isLeaf, weight.toArray()]).toEqual([before + 1, true, [0, 0]]);
  }));

test('ops with a guard check their arguments, and track views and versions', () =>
  scope(() => {
    const a = torch.ones([2, 3]);
    const before = a._version;
    a.select(0, 1).fill_(7);
    expect(a._version).toBe(before + 1);
    // Without the guard, these end the process.
    const zeros = torch.zeros([2, 3], { dtype: 'int64' });
    expect(() => zeros.remainder(zeros)).toThrow(/ZeroDivisionError/);
    expect(() => zeros.remainder_(zeros)).toThrow(/ZeroDivisionError/);
    const indices = torch.tensor([1, 0], { dtype: 'int64' });
    expect(a.indexSelect(0, indices).toArray()).toEqual([
      [7, 7, 7],
      [1, 1, 1],
    ]);
    expect(zeros.remainder(torch.tensor(2, { dtype: 'int64' })).toArray()).toEqual(zeros.toArray());
    const weight = leaf(2, 3);
    expect([weight.select(0, 1).requiresGrad, weight.indexSelect(0, indices).requiresGrad]).toEqual([true, true]);
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

test('a new tensor has the version 0, also in torch.run, and is an inference tensor in that mode', async () => {
  const versions = () =>
    [torch.zeros([2]), torch.full([2], 3), torch.rand([2]), torch.arange(3), torch.eye(2)].map((t) => t._version);
  expect(scope(versions)).toEqual([0, 0, 0, 0, 0]);
  // Random ops are recorded, others run at once.
  using made = await torch.run(() => torch.rand([2]));
  const capture = torch.capture(() => torch.randn([2]));
  using first = capture();
  using replayed = capture();
  expect([made._version, first._version, replayed._version]).toEqual([0, 0, 0]);
  scope(() => expect(inferenceMode(() => torch.ones([2]).isInference())).toBe(true));
});

test('a tensor made like another one has the version 0, and no part in its graph or mode', () =>
  scope(() => {
    const inference = inferenceMode(() => torch.ones([2]));
    for (const t of [torch.ones([2]), leaf(2), leaf(2).mul(2), inference]) {
      const made = [t.zerosLike(), t.onesLike(), t.fullLike(3), t.randLike(), t.randintLike(5), t.emptyLike()];
      const facts = made.map((each) => [each._version, each.requiresGrad, each.isLeaf, each.isInference()]);
      expect(facts).toEqual(facts.map(() => [0, false, true, false]));
    }
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
