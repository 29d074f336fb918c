require('libtorch-node/jest');
const torch = require('libtorch-node');

jest.setTimeout(600_000); // a busy machine

it('counts tensors', async () => {
  await expect(() => torch.scope(() => void torch.ones([3]).add(1))).not.toLeakTensors({ iterations: 5, warmup: 1 });
  const kept = [];
  await expect(
    expect(() => void kept.push(torch.ones([3]))).not.toLeakTensors({ iterations: 5, warmup: 1 }),
  ).rejects.toThrow(/leak/);
});
