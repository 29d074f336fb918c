/** torch.nn.utils: who owns which tensor. */
import { settled, thrown, torch, untyped } from '../support/torch';

const { utils } = untyped.nn;
type Tensor = ReturnType<typeof torch.ones>;

class Double extends torch.nn.Module {
  override forward(w: Tensor) {
    return w.mul(2);
  }
}

/** A module of the program with a parameter. */
class Cell extends torch.nn.Module {
  w = new torch.nn.Parameter(torch.ones([3]));
  fc = new torch.nn.Linear(3, 3);
  last: any;
  override forward(x: any): any {
    this.last = x.mul(this.w);
    return this.last.sum();
  }
}
class Waiting extends Cell {
  override async forward(x: any) {
    const { w } = this;
    const h = x.mul(w);
    await null;
    return h.add(w).sum();
  }
}
class Result {
  constructor(readonly y: any) {}
}
class Boxing extends Cell {
  override forward(x: any) {
    return new Result(x.mul(this.w));
  }
}
class Calling extends Cell {
  override forward(x: any) {
    return this.fc.forward(x).mul(this.w);
  }
}
class Yielding extends Cell {
  override *forward(x: any) {
    yield x.mul(this.w);
  }
}
class Giving extends Cell {
  override forward() {
    return [this.w, this.w] as any;
  }
}

const doubled = <M extends Cell>(cell: M): M => utils.parametrize.registerParametrization(cell, 'w', new Double()) as M;

test('forward of a module with parametrizations leaves what the program keeps', async () => {
  const x = torch.ones([3]);
  const cell = doubled(new Cell());
  const before = settled().tensors;
  const sum = cell.forward(x);
  // `last` and the sum; the computed weight is released.
  expect([torch.memory().tensors - before, cell.last.toArray(), sum.item()]).toEqual([2, [2, 2, 2], 6]);
  expect(await (doubled(new Waiting()).forward(x) as any).then((result: any) => result.item())).toBe(12);
  expect((doubled(new Boxing()).forward(x) as any).y.toArray()).toEqual([2, 2, 2]);
  expect([...(doubled(new Yielding()).forward(x) as any)].map((one) => one.toArray())).toEqual([[2, 2, 2]]);
  expect((doubled(new Giving()).forward() as any).map((one: any) => one.toArray())).toEqual([
    [2, 2, 2],
    [2, 2, 2],
  ]);
  const calling = doubled(new Calling());
  let seen: any;
  calling.fc.registerForwardHook((_: unknown, __: unknown, output: unknown) => {
    seen = output;
  });
  calling.forward(x);
  expect(seen.shape).toEqual([3]);
});

test('forward of a module with parametrizations: in scopes, with gradients, after an error', async () => {
  const cell = doubled(new Cell());
  const before = settled().tensors;
  torch.scope(() => {
    cell.forward(torch.ones([3])).backward();
    expect(cell.w.requiresGrad).toBe(true);
  });
  expect(cell.last.disposed).toBe(true); // it belonged to the scope around the call
  const [original] = cell.parameters().filter((one) => one.shape.join() === '3' && one !== cell.fc.bias);
  torch.scope(() => expect(original!.grad!.toArray()).toEqual([2, 2, 2]));
  cell.zeroGrad();
  await torch.scope(async () => {
    const waiting = doubled(new Waiting());
    expect((await waiting.forward(torch.ones([3]))).item()).toBe(12);
    waiting.dispose();
  });
  expect(thrown(() => cell.forward('x')).message).toContain('x.mul');
  expect(torch.memory().tensors).toBe(before);
});

test('updateBn of a DataLoader is a promise, and releases the batches that the loader made', async () => {
  const { DataLoader, TensorDataset } = torch.utils.data;
  const net = new torch.nn.Sequential(new torch.nn.BatchNorm1d(2));
  const rows = torch.full([8, 2], 5);
  const usual = new DataLoader(new TensorDataset(rows), { batchSize: 4 });
  const samples = [torch.full([2, 2], 3), torch.full([2, 2], 5)];
  const loaders: [loader: InstanceType<typeof DataLoader>, mean: number][] = [
    [usual, 5],
    [new DataLoader([torch.ones([2]), torch.ones([2])], { batchSize: 2 }), 1],
    // These batches are the program's own tensors.
    [new DataLoader(samples, { batchSize: null }), 4],
    [new DataLoader(samples, { collateFn: ([sample]: any[]) => sample }), 4],
    [new DataLoader([0, 1], { collateFn: ([i]: any[]) => samples[i], numWorkers: 1 }), 4],
    [new DataLoader({ length: 2, getItem: () => 0, getItems: () => rows } as never), 5],
  ];
  for (const [loader, mean] of loaders) {
    const before = settled().tensors;
    const done: Promise<void> = torch.optim.swaUtils.updateBn(loader, net);
    expect(done).toBeInstanceOf(Promise);
    await done;
    expect([torch.memory().tensors - before, [...(net.at(0) as any).runningMean.toTypedArray()]]).toEqual([
      0,
      [mean, mean],
    ]);
    await loader.dispose();
  }
  expect([rows, ...samples].map((one) => one.disposed)).toEqual([false, false, false]);
  net.dispose();
});

const removed: Record<string, (layer: any) => unknown> = {
  weightNorm: (layer) => utils.removeWeightNorm(utils.weightNorm(layer)),
  'parametrizations.weightNorm': (layer) =>
    utils.parametrize.removeParametrizations(utils.parametrizations.weightNorm(layer), 'weight'),
};
const present: typeof removed = {
  weightNorm: (layer) => utils.weightNorm(layer),
  'parametrizations.weightNorm': (layer) => utils.parametrizations.weightNorm(layer),
};

test.each(Object.keys(present))('%s: dispose of the module releases the first weight', (name) => {
  for (const change of [present[name]!, removed[name]!]) {
    const before = settled().tensors;
    const layer = new torch.nn.Linear(3, 4);
    const first = layer.weight;
    change(layer);
    expect([first.disposed, torch.scope(() => layer.weight === first)]).toEqual([false, false]); // it may still be in use
    layer.dispose();
    expect(torch.memory().tensors - before).toBe(0);
  }
});
