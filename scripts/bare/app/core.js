/** Ops, BLAS and LAPACK, convolution, autograd, training, pool, files and lifetimes on the libtorch that npm brought. */
const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const torch = require('libtorch-node');

const close = (a, b, tolerance = 1e-6) => assert.ok(Math.abs(a - b) <= tolerance, `${a} is not ${b}`);

async function work() {
  torch.scope(() => {
    assert.deepEqual(
      torch
        .tensor([
          [1, 2],
          [3, 4],
        ])
        .matmul(
          torch.tensor([
            [0, 1],
            [1, 0],
          ]),
        )
        .toArray(),
      [
        [2, 1],
        [4, 3],
      ],
    );
    assert.deepEqual(torch.fmod(torch.tensor([5.5, -7.25]), 2).toArray(), [1.5, -1.25]);
    assert.deepEqual(torch.arange(6).reshape([2, 3]).sum([0]).toArray(), [3, 5, 7]);
    close(torch.erf(torch.tensor([0.5], { dtype: 'float64' })).item(), 0.5204998778130465, 1e-12);
    const a = torch.randn([60, 60], { dtype: 'float64' }).add(torch.eye(60, { dtype: 'float64' }).mul(20));
    const eye = torch.eye(60, { dtype: 'float64' });
    close(torch.linalg.solve(a, eye).matmul(a).sub(eye).abs().max().item(), 0, 1e-9);
    const [u, s, vh] = torch.linalg.svd(a, { fullMatrices: false });
    close(u.mul(s).matmul(vh).sub(a).abs().max().item(), 0, 1e-9);
    const image = torch.randn([2, 3, 16, 16]);
    const kernel = torch.randn([4, 3, 3, 3]);
    const direct = image.unfold(2, 3, 1).unfold(3, 3, 1).permute([0, 2, 3, 1, 4, 5]).reshape([2, 14, 14, 27]);
    const expected = direct.matmul(kernel.reshape([4, 27]).t()).permute([0, 3, 1, 2]);
    close(torch.nn.functional.conv2d(image, kernel).sub(expected).abs().max().item(), 0, 1e-3);
    const signal = torch.randn([128]);
    close(
      torch
        .real(torch.fft.ifft(torch.fft.fft(signal)))
        .sub(signal)
        .abs()
        .max()
        .item(),
      0,
      1e-5,
    );
    const x = torch.tensor([3], { requiresGrad: true });
    x.mul(x).sum().backward();
    assert.equal(x.grad.item(), 6);
  });
  const net = new torch.nn.Sequential(new torch.nn.Linear(4, 8), new torch.nn.ReLU(), new torch.nn.Linear(8, 1));
  const optimizer = new torch.optim.Adam(net.parameters(), { lr: 0.05 });
  const losses = [];
  const inputs = torch.randn([32, 4]);
  const targets = inputs.sum([1], true);
  for (let i = 0; i < 60; i++) {
    torch.scope(() => {
      optimizer.zeroGrad();
      const loss = torch.nn.functional.mseLoss(net.forward(inputs), targets);
      loss.backward();
      optimizer.step();
      losses.push(loss.item());
    });
  }
  assert.ok(losses.at(-1) < losses[0] / 4, `the loss fell from ${losses[0]} to ${losses.at(-1)} only`);
  const product = await torch.async.matmul(torch.ones([100, 100]), torch.ones([100, 100]));
  assert.equal(product.at(0, 0).item(), 100);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'core-'));
  torch.save(net.stateDict(), path.join(folder, 'net.pt'));
  assert.deepEqual(Object.keys(torch.load(path.join(folder, 'net.pt'))), Object.keys(net.stateDict()));
  fs.rmSync(folder, { recursive: true });
  assert.throws(() => torch.ones([2, 3]).matmul(torch.ones([2, 3])), /shapes cannot be multiplied/);
  return torch.memory().tensors;
}

work().then(async (during) => {
  assert.ok(during > 0);
  // Garbage is freed by collections alone, some of whose finalizers run in a later turn.
  for (let i = 0; i < 50 && torch.memory().tensors > 0; i++) {
    globalThis.gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(torch.memory().tensors, 0);
  assert.equal(torch.memory().bytes, 0);
  if (process.platform === 'linux') {
    const maps = fs.readFileSync('/proc/self/maps', 'utf8');
    // Of npm's package, or in the folder that an argument names.
    const [folder = '@libtorch-node/libtorch-linux-[^/]+/lib', blas = `${folder}/libopenblas`] = process.argv.slice(2);
    assert.match(maps, new RegExp(`${folder}/libtorch_cpu\\.so`));
    assert.match(maps, new RegExp(`${blas}\\.so`));
  }
  console.log('core: ok');
});
