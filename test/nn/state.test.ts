/** What modules keep: initial values, and state besides their tensors. */
import { thrown, torch, untyped } from '../support/torch';

const { nn } = torch;

test('resetParameters gives the values of a new module', () => {
  const values = (net: InstanceType<typeof nn.Module>) => net.parameters().map((one) => one.toArray());
  for (const make of [
    () => new nn.LayerNorm(3),
    () => new nn.GroupNorm(2, 4),
    () => new nn.AdaptiveLogSoftmaxWithLoss(8, 6, [2, 4]),
    () => new nn.BatchNorm1d(3),
  ]) {
    torch.manualSeed(0);
    const net = make();
    const first = values(net);
    torch.noGrad(() => {
      for (const one of net.parameters()) one.fill_(7);
    });
    torch.manualSeed(0);
    net.resetParameters();
    expect(values(net)).toEqual(first);
    net.dispose();
  }
});

test('the bias of a layer without inputs is 0, not what the memory had', () => {
  torch.scope(() => {
    for (let i = 0; i < 20; i++) {
      torch.full([5], 7).dispose(); // The next tensor of this size gets this memory.
      const net = new nn.Linear(0, 5);
      torch.full([5], 7).dispose();
      const lazy = new nn.LazyLinear(5);
      lazy.forward(torch.zeros([2, 0]));
      for (const one of [net, lazy]) {
        expect(one.bias!.toArray()).toEqual([0, 0, 0, 0, 0]);
        one.dispose();
      }
    }
  });
});

test('extra state is written under _extra_state and given back, as in Python', () => {
  class Counter extends nn.Module {
    scale = new nn.Parameter(torch.ones([1]));
    calls: unknown = 0;
    seen = 0;
    override getExtraState(): unknown {
      return { calls: this.calls };
    }
    override setExtraState({ calls }: { calls: unknown }): void {
      this.calls = calls;
      this.seen = Number(this.scale.item());
    }
  }
  class Writes extends nn.Module {
    override getExtraState(): unknown {
      return 1;
    }
  }
  const [net, other] = [new nn.Sequential(new Counter()), new nn.Sequential(new Counter())];
  const [from, to] = [net.at(0) as Counter, other.at(0) as Counter];
  torch.noGrad(() => from.scale.fill_(3));
  from.calls = 5;
  const dict = net.stateDict();
  expect(Object.keys(dict)).toEqual(['0.scale', '0._extra_state']);
  expect(other.loadStateDict(dict)).toEqual({ missingKeys: [], unexpectedKeys: [] });
  expect([to.calls, to.seen]).toEqual([5, 3]); // after the tensors

  const { '0._extra_state': _, ...without } = dict;
  to.calls = 7;
  expect(thrown(() => other.loadStateDict(without))).toMatchObject({
    code: 'ERR_TORCH_ARGUMENT',
    missingKeys: ['0._extra_state'],
  });
  expect(other.loadStateDict(without, { strict: false }).missingKeys).toEqual(['0._extra_state']);
  expect(to.calls).toBe(7);
  const writes = new Writes();
  expect(thrown(() => writes.loadStateDict(writes.stateDict()))).toMatchObject({ unexpectedKeys: ['_extra_state'] });
  torch.disposeAll([dict['0.scale']!]);
});

test('uninitialized parameters and buffers, as a program makes them', () => {
  const parameter = new nn.UninitializedParameter({ dtype: 'float64', requiresGrad: false });
  const buffer = new nn.UninitializedBuffer();
  expect([parameter.dtype, parameter.requiresGrad, buffer.requiresGrad]).toEqual(['float64', false, false]);
  expect(new nn.UninitializedParameter().requiresGrad).toBe(true);
  parameter.materialize([2, 3]);
  buffer.materialize([4], { dtype: 'int64' });
  expect([parameter.shape, parameter.dtype, parameter.requiresGrad]).toEqual([[2, 3], 'float64', false]);
  expect([buffer.shape, buffer.dtype]).toEqual([[4], 'int64']);
  expect([parameter, buffer].map((one) => one.constructor.name)).toEqual(['Parameter', 'Tensor']);
  for (const make of [
    () => new untyped.nn.UninitializedBuffer(torch.ones([1])),
    () => new untyped.nn.UninitializedParameter(5),
    () => new nn.UninitializedBuffer().materialize('a' as never),
  ]) {
    expect(thrown(make).code).toBe('ERR_TORCH_ARGUMENT');
  }
});

test('a dict that was not awaited is refused, also if keys may be missing', () => {
  const net = new nn.Linear(2, 2);
  for (const dict of [Promise.resolve(net.stateDict()), new Date(), new Set(), 5, null]) {
    const { code, message } = thrown(() =>
      untyped.nn.Module.prototype.loadStateDict.call(net, dict, { strict: false }),
    );
    expect([code, message]).toEqual([
      'ERR_TORCH_ARGUMENT',
      expect.stringMatching("^loadStateDict: argument 'dict': expected an object or Map of Tensors, got "),
    ]);
  }
  expect(net.loadStateDict({}, { strict: false }).missingKeys).toEqual(['weight', 'bias']);
  expect(() => untyped.nn.Module.prototype.loadStateDict.call(net, {}, false)).toThrow(
    'expected an object, got false; options go by name: { strict: false }',
  );
  net.dispose();
});

test('hooks after loading see the loaded values, inner modules first, and may allow other keys', () => {
  const net = new nn.Sequential(new nn.Linear(1, 1, { bias: false }), new nn.Linear(1, 1, { bias: false }));
  const seen: unknown[] = [];
  const note = (module: InstanceType<typeof nn.Module>) =>
    void seen.push([module.constructor.name, ...module.parameters().map((one) => one.item())]);
  net.registerLoadStateDictPostHook(note);
  for (const layer of net) layer.registerLoadStateDictPostHook(note);
  const { '0.weight': first, '1.weight': second } = torch.scope(() => ({
    '0.weight': torch.full([1, 1], 3),
    '1.weight': torch.full([1, 1], 5),
  }));
  const dict = { '0.weight': first, '1.weight': second };
  net.loadStateDict(dict);
  expect(seen.splice(0)).toEqual([
    ['Linear', 3],
    ['Linear', 5],
    ['Sequential', 3, 5],
  ]);
  expect(thrown(() => net.loadStateDict({ ...dict, other: first })).message).toMatch(/unexpected keys: other$/);
  expect(thrown(() => net.loadStateDict({ ...dict, '1.weight': torch.ones([2]) })).message).toMatch(/expected shape/);
  seen.splice(0);
  net.registerLoadStateDictPostHook((_, keys) => void keys.unexpectedKeys.splice(0));
  expect(net.loadStateDict({ ...dict, other: first }).unexpectedKeys).toEqual([]);
  expect(seen.length).toBe(3);
  torch.disposeAll(dict);
  net.dispose();
});
