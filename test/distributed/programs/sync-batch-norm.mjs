/**
 * SyncBatchNorm over the parts that the ranks have is what Python's BatchNorm computes of the whole batch. `joined`: the file of
 * joined_batch.py. Destroys the default group.
 */
import assert from 'node:assert/strict';
import torch from '../../../dist/lib/index.mjs';

const d = torch.distributed;
const { nn } = torch;

const close = (got, expected, what) => {
  assert.deepEqual(got.shape, expected.shape, what);
  assert.ok(torch.allclose(got, expected, { rtol: 1e-5, atol: 1e-6 }), `${what}: ${got} and ${expected}`);
};

export async function syncBatchNorm(rank, worldSize, joined) {
  for (const [name, { x, weight, bias, coefficients, splits, steps, momentum }] of Object.entries(
    await torch.load(joined),
  )) {
    const norm = new nn.SyncBatchNorm(x.shape[1], { momentum, dtype: x.dtype });
    torch.noGrad(() => {
      norm.weight.copy_(weight);
      norm.bias.copy_(bias);
    });
    const start = splits.slice(0, rank).reduce((a, b) => a + b, 0);
    const part = (t) => t.narrow(0, start, splits[rank]);
    for (const [i, { out, gradX, gradWeight, gradBias, mean, variance }] of steps.entries()) {
      const what = `${name}, step ${i}`;
      const mine = part(x).clone().requiresGrad_();
      const got = norm.forward(mine);
      close(got, part(out), `${what}: output`);
      const loss = got.mul(part(coefficients)).sum();
      if (i % 2 === 0) loss.backward();
      else await torch.run(() => loss.backward());
      close(mine.grad, part(gradX), `${what}: gradient of the input`);
      // Sums over the ranks, as DistributedDataParallel makes them.
      for (const [parameter, expected] of [
        [norm.weight, gradWeight],
        [norm.bias, gradBias],
      ]) {
        await d.allReduce(parameter.grad);
        close(parameter.grad, expected, `${what}: gradient of a parameter`);
        parameter.grad = null;
      }
      close(norm.runningMean, mean, `${what}: running mean`);
      close(norm.runningVar, variance, `${what}: running variance`);
    }
    norm.eval();
    const plain = nn.functional.batchNorm(x, norm.runningMean, norm.runningVar, norm.weight, norm.bias);
    assert.ok(torch.equal(norm.forward(x), plain), `${name}: evaluation`);
  }

  const unweighted = new nn.SyncBatchNorm(3);
  unweighted.weight = null;
  unweighted
    .forward(torch.randn([4, 3]))
    .sum()
    .backward();
  assert.deepEqual(unweighted.bias.grad.toArray(), [4, 4, 4]);

  // Conversion: in containers and properties, shared modules once, with the same parameters.
  class Net extends nn.Module {
    norm = new nn.BatchNorm1d(3, { momentum: null });
    body = new nn.Sequential(new nn.Linear(3, 3), new nn.BatchNorm1d(3));
    list = new nn.ModuleList([new nn.BatchNorm2d(2, { affine: false }), new nn.InstanceNorm1d(4)]);
    again = this.norm;
  }
  const net = new Net().eval();
  const before = net.stateDict();
  const converted = nn.SyncBatchNorm.convertSyncBatchnorm(net);
  assert.equal(converted, net);
  assert.ok(net.norm instanceof nn.SyncBatchNorm && net.again === net.norm && net.norm.momentum === null);
  assert.ok(net.body.at(1) instanceof nn.SyncBatchNorm && net.list.at(0) instanceof nn.SyncBatchNorm);
  assert.ok(!(net.list.at(1) instanceof nn.SyncBatchNorm) && net.list.at(0).weight === null && !net.norm.training);
  const after = net.stateDict();
  assert.deepEqual(Object.keys(after), Object.keys(before));
  for (const [key, value] of Object.entries(after)) assert.ok(torch.equal(value, before[key]), key);
  const alone = new nn.BatchNorm1d(3);
  assert.equal(nn.SyncBatchNorm.convertSyncBatchnorm(alone).weight, alone.weight);

  const unbiased = nn.SyncBatchNorm.convertSyncBatchnorm(new nn.BatchNorm1d(3, { bias: false }));
  unbiased
    .forward(torch.full([1, 3], rank))
    .square()
    .sum()
    .backward();
  assert.ok(unbiased.bias === null && unbiased.weight.grad.isfinite().all().item());

  // Under DistributedDataParallel, all ranks keep the same parameters; one has fewer samples.
  const model = new nn.parallel.DistributedDataParallel(
    nn.SyncBatchNorm.convertSyncBatchnorm(
      new nn.Sequential(new nn.Linear(4, 3), new nn.BatchNorm1d(3), new nn.Linear(3, 1)),
    ),
  );
  const optimizer = new torch.optim.SGD(model.parameters(), { lr: 0.1 });
  for (let step = 0; step < 3; step++) {
    optimizer.zeroGrad();
    model
      .forward(torch.randn([1 + rank, 4]))
      .square()
      .sum()
      .backward();
    optimizer.step();
  }
  const weights = torch.cat([...model.parameters(), model.module.at(1).runningVar].map((p) => p.detach().flatten()));
  const all = Array.from({ length: worldSize }, () => torch.zerosLike(weights));
  await d.allGather(all, weights);
  assert.ok(all.every((each) => torch.equal(each, all[0])) && weights.isfinite().all().item());

  // What is refused.
  const norm = new nn.SyncBatchNorm(3);
  assert.throws(() => norm.forward(torch.ones([4, 2])), { code: 'ERR_TORCH_ARGUMENT' });
  assert.throws(() => norm.forward(torch.ones([4])), { code: 'ERR_TORCH_ARGUMENT' });
  assert.throws(() => norm.forward(torch.ones([4, 3], { dtype: 'int64' })), { code: 'ERR_TORCH_ARGUMENT' });
  assert.throws(() => new nn.SyncBatchNorm(3, { processGroup: {} }), { code: 'ERR_TORCH_ARGUMENT' });
  assert.throws(() => nn.SyncBatchNorm.convertSyncBatchnorm({}), { code: 'ERR_TORCH_ARGUMENT' });
  await torch.run(() => assert.throws(() => norm.forward(torch.ones([4, 3])), { code: 'ERR_TORCH_PENDING' }));
  assert.throws(() => norm.forward(torch.ones([rank === 0 ? 1 : 0, 3])), { message: /more than 1 value per channel/ });
  const loss = norm.forward(torch.ones([4, 3], { requiresGrad: true })).sum();
  await d.destroyProcessGroup();
  assert.throws(() => loss.backward(), { code: 'ERR_TORCH_DISTRIBUTED' });
  assert.throws(() => norm.forward(torch.ones([4, 3])), { code: 'ERR_TORCH_DISTRIBUTED' });
}
