/** ZeroRedundancyOptimizer over the ranks of the default group makes the parameters of the plain optimizer, to the bit. */
import assert from 'node:assert/strict';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import torch from '../../../dist/lib/index.mjs';

const d = torch.distributed;
const { nn, optim } = torch;
const { ZeroRedundancyOptimizer } = d.optim;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
/** The bytes of tensors once no garbage is left: two collections in a row find none. */
async function settledBytes() {
  let last = -1;
  for (let quiet = 0; quiet < 2; ) {
    collect();
    await new Promise(setImmediate);
    const { bytes } = torch.memory();
    quiet = bytes === last ? quiet + 1 : 0;
    last = bytes;
  }
  return last;
}

const network = () => {
  torch.manualSeed(3);
  return new nn.Sequential(
    new nn.Linear(6, 20),
    new nn.ReLU(),
    new nn.Linear(20, 5),
    new nn.ReLU(),
    new nn.Linear(5, 2),
  );
};
const learn = (net, step) => {
  const generator = new torch.Generator().manualSeed(step);
  torch.scope(() =>
    net
      .forward(torch.randn([8, 6], { generator }))
      .square()
      .mean()
      .backward(),
  );
};
const same = (a, b, what) => {
  const [left, right] = [a.parameters(), b.parameters()];
  for (const [i, parameter] of left.entries()) assert.ok(torch.equal(parameter, right[i]), `${what}: parameter ${i}`);
};
/** Two groups, of which one has its own learning rate. */
const groups = (net) => {
  const [first, ...rest] = net.parameters();
  return [{ params: rest }, { params: [first], lr: 0.003 }];
};

export async function zero(rank, size) {
  for (const [cls, options, paramsOf] of [
    [optim.Adam, { lr: 0.01 }, (net) => net.parameters()],
    [optim.AdamW, { lr: 0.01, amsgrad: true }, groups],
    [optim.SGD, { lr: 0.05, momentum: 0.9, nesterov: true }, groups],
  ]) {
    const [plainNet, net] = [network(), network()];
    const plain = new cls(paramsOf(plainNet), options);
    const shared = new ZeroRedundancyOptimizer(paramsOf(net), cls, options);
    const schedules = [plain, shared].map((each) => new optim.lrScheduler.StepLR(each, 2, { gamma: 0.5 }));
    const steps = (from, to, other = shared) => {
      for (let step = from; step < to; step++) {
        for (const [each, optimizer, schedule] of [
          [plainNet, plain, schedules[0]],
          [net, other, schedules[1]],
        ]) {
          optimizer.zeroGrad();
          learn(each, step);
          optimizer.step();
          if (other === shared) schedule.step();
        }
        same(plainNet, net, `${cls.name}, step ${step}`);
      }
    };
    steps(0, 5);
    assert.deepEqual(
      shared.paramGroups.map(({ lr }) => lr),
      plain.paramGroups.map(({ lr }) => lr),
    );
    assert.throws(() => shared.stateDict(), { code: 'ERR_TORCH_RUNTIME', message: /consolidateStateDict/ });
    await shared.consolidateStateDict(1);
    if (rank === 1) {
      const [whole, expected] = [shared.stateDict(), plain.stateDict()];
      assert.deepEqual([...whole.state.keys()].sort(), [...expected.state.keys()].sort());
      for (const [number, values] of expected.state) {
        for (const [key, value] of Object.entries(values)) {
          const got = whole.state.get(number)[key];
          assert.ok(torch.isTensor(value) ? torch.equal(got, value) : Object.is(got, value), `${number}.${key}`);
        }
      }
      assert.deepEqual(
        whole.param_groups.map(({ params }) => params),
        expected.param_groups.map(({ params }) => params),
      );
    } else assert.throws(() => shared.stateDict(), { code: 'ERR_TORCH_RUNTIME' });

    // Continues with the state of the plain optimizer, of which each rank keeps its part.
    const again = new ZeroRedundancyOptimizer(paramsOf(net), cls, options);
    again.loadStateDict(plain.stateDict());
    steps(5, 7, again);
    for (const each of [shared, again, plain]) each.dispose();
  }

  // Each rank has the state of its part: about a half here, all of it nowhere.
  const net = new nn.Sequential(...Array.from({ length: 4 }, () => new nn.Linear(64, 64, false)));
  const optimizer = new ZeroRedundancyOptimizer(net.parameters(), optim.Adam);
  torch.scope(() =>
    net
      .forward(torch.ones([2, 64]))
      .sum()
      .backward(),
  );
  const before = await settledBytes();
  optimizer.step();
  const state = (await settledBytes()) - before;
  const all = 4 * 64 * 64 * 4 * 2;
  assert.ok(state >= all / size && state < all / size + 4096, `${state} bytes of ${all}`);
  optimizer.dispose();

  assert.throws(() => new ZeroRedundancyOptimizer(net.parameters(), {}), { code: 'ERR_TORCH_ARGUMENT' });
  assert.throws(() => new ZeroRedundancyOptimizer([], optim.Adam), { code: 'ERR_TORCH_ARGUMENT' });
  assert.throws(() => new ZeroRedundancyOptimizer(net.parameters(), optim.Adam, { rate: 1 }), {
    code: 'ERR_TORCH_ARGUMENT',
  });
  for (const [params, cls] of [
    [net.parameters(), optim.LBFGS],
    [[torch.zeros([2], { dtype: 'bfloat16' }).requiresGrad_()], optim.SGD],
  ]) {
    assert.throws(() => new ZeroRedundancyOptimizer(params, cls, { lr: 0.1 }), { code: 'ERR_TORCH_ARGUMENT' });
  }
  // A state without entries replaces the one that is there.
  const emptied = new ZeroRedundancyOptimizer(net.parameters(), optim.Adam);
  emptied.step();
  emptied.loadStateDict(new optim.Adam(net.parameters()).stateDict());
  await emptied.consolidateStateDict(0);
  if (rank === 0) assert.equal(emptied.stateDict().state.size, 0);
  emptied.dispose();
  const fresh = new ZeroRedundancyOptimizer(net.parameters(), optim.SGD, { lr: 0.1 });
  await assert.rejects(fresh.consolidateStateDict(7), { code: 'ERR_TORCH_ARGUMENT' });
}
