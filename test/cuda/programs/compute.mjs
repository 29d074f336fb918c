/** Ops on the device beside the same on the CPU: values, dtypes, copies, indices, random numbers, autograd, async, errors. */
import assert from 'node:assert/strict';
import torch from 'libtorch-node';
import { check, collected, held, runAll } from './checks.mjs';

const device = 'cuda';
const F = torch.nn.functional;

function same(title, make, compute, tolerance = 1e-4) {
  check(title, () =>
    torch.scope(() => {
      torch.manualSeed(1);
      const inputs = make();
      const outputs = [compute(...inputs), compute(...inputs.map((x) => x.to(device)))].map((found) => [found].flat());
      const [ofCpu, ofDevice] = outputs;
      assert.equal(ofCpu.length, ofDevice.length);
      ofCpu.forEach((expected, i) => {
        const got = ofDevice[i];
        assert.equal(got.device, 'cuda:0');
        assert.equal(got.dtype, expected.dtype);
        assert.deepEqual(got.shape, expected.shape);
        const [a, b] = [expected, got.cpu()].map((x) => (x.isComplex() ? torch.viewAsReal(x) : x).to('float64'));
        const limit = tolerance * (1 + (a.numel === 0 ? 0 : a.abs().max().item()));
        const worst = a.numel === 0 ? 0 : a.sub(b).abs().max().item();
        assert.ok(worst <= limit, `differs by ${worst}, allowed ${limit}`);
      });
    }),
  );
}

const r = (...shape) => torch.randn(shape);
const n = (limit, ...shape) => torch.randint(0, limit, shape);
same(
  'add, broadcast',
  () => [r(5, 1, 4), r(3, 1)],
  (a, b) => a.add(b, { alpha: 2 }),
);
same(
  'matmul',
  () => [r(64, 32), r(32, 16)],
  (a, b) => a.matmul(b),
  1e-2,
);
same(
  'bmm of float64',
  () => [r(3, 8, 9).double(), r(3, 9, 4).double()],
  (a, b) => a.bmm(b),
  1e-10,
);
same(
  'matmul of bfloat16',
  () => [r(64, 64).bfloat16(), r(64, 64).bfloat16()],
  (a, b) => a.matmul(b),
  3e-2,
);
same(
  'conv2d',
  () => [r(2, 3, 16, 16), r(4, 3, 3, 3), r(4)],
  (x, w, b) => F.conv2d(x, w, b, { padding: 1 }),
  1e-2,
);
same(
  'convTranspose1d',
  () => [r(2, 3, 16), r(3, 4, 3)],
  (x, w) => F.convTranspose1d(x, w),
  1e-2,
);
same(
  'maxPool2d, adaptiveAvgPool2d',
  () => [r(2, 3, 16, 16)],
  (x) => [F.maxPool2d(x, 2), F.adaptiveAvgPool2d(x, [3, 3])],
);
same(
  'batchNorm, layerNorm',
  () => [r(8, 5)],
  (x) => [F.batchNorm(x, null, null, { training: true }), F.layerNorm(x, [5])],
);
same(
  'softmax, gelu, sigmoid, tanh, silu',
  () => [r(4, 9)],
  (x) => [x.softmax(-1), F.gelu(x), x.sigmoid(), x.tanh(), F.silu(x)],
);
same(
  'sum, mean, std, argmax, cumsum',
  () => [r(7, 8)],
  (x) => [x.sum(), x.mean([1]), x.std(), x.argmax(1), x.cumsum(0)],
);
same(
  'sort, topk, unique, nonzero',
  () => [n(50, 100)],
  (x) => [x.sort()[0], x.topk(5)[0], x.unique(), x.gt(20).nonzero()],
);
same(
  'index, gather, scatter',
  () => [r(5, 6), n(5, 3), n(6, 5, 2)],
  (x, i, j) => [x.index([i]), x.gather(1, j), x.scatter(1, j, 0)],
);
same(
  'indexAdd_, maskedFill',
  () => [r(5, 6), n(5, 3), r(3, 6)],
  (x, i, y) => [x.clone().indexAdd_(0, i, y), x.maskedFill(x.gt(0), -1)],
);
same(
  'embedding, oneHot',
  () => [n(9, 4, 3), r(9, 5)],
  (i, w) => [F.embedding(i, w), F.oneHot(i, 9)],
);
same(
  'crossEntropy, mseLoss',
  () => [r(6, 5), n(5, 6)],
  (x, y) => [F.crossEntropy(x, y), F.mseLoss(x, x.mul(2))],
);
same(
  'fft',
  () => [r(8, 32)],
  (x) => [torch.fft.rfft(x), torch.fft.irfft(torch.fft.rfft(x))],
);
same(
  'linalg: solve, svd, eigh, qr, det',
  () => [r(9, 9).double()],
  (x) => [
    torch.linalg.solve(x, x.t()),
    torch.linalg.svdvals(x),
    torch.linalg.eigvalsh(x.add(x.t())),
    torch.linalg.qr(x)[1].abs(),
    torch.linalg.det(x),
  ],
  1e-8,
);
same(
  'scaledDotProductAttention',
  () => [r(2, 4, 16, 8), r(2, 4, 16, 8), r(2, 4, 16, 8)],
  (q, k, v) => F.scaledDotProductAttention(q, k, v, { isCausal: true }),
  1e-2,
);
same(
  'interpolate, gridSample',
  () => [r(1, 3, 8, 8), r(1, 4, 4, 2).tanh()],
  (x, g) => [
    F.interpolate(x, { size: [13, 5], mode: 'bilinear', alignCorners: false }),
    F.gridSample(x, g, { alignCorners: false }),
  ],
);
same(
  'einsum, where, cat, stack, pad',
  () => [r(3, 4), r(4, 5)],
  (a, b) => [
    torch.einsum('ij,jk->ik', [a, b]),
    torch.where(a.gt(0), a, a.neg()),
    torch.cat([a, a]),
    torch.stack([b, b]),
    F.pad(a, [1, 2]),
  ],
  1e-2,
);
same(
  'complex',
  () => [torch.complex(r(4, 4), r(4, 4))],
  (x) => [x.mul(x.conj()), x.matmul(x), x.abs()],
  1e-2,
);
same(
  'integers',
  () => [n(100, 20), n(100, 20).add(1)],
  (a, b) => [a.mul(b), a.div(b, { roundingMode: 'floor' }), a.bitwiseXor(b), a.lt(b)],
);
same(
  'lstm',
  () => [r(5, 2, 4)],
  (x) => {
    torch.manualSeed(2);
    const lstm = new torch.nn.LSTM(4, 6, { numLayers: 2 }).to(x.device);
    return [lstm.forward(x)[0].detach()];
  },
  1e-2,
);
same(
  'a gradient',
  () => [r(8, 5), r(5, 3)],
  (x, w) => {
    const weight = w.detach().clone().requiresGrad_();
    x.matmul(weight).tanh().square().sum().backward();
    return [weight.grad];
  },
  1e-2,
);
same(
  'hooks, checkpoint and double backward',
  () => [r(6)],
  (x) => {
    const leaf = x.detach().clone().requiresGrad_();
    let seen = 0;
    const y = leaf.sin();
    y.registerHook((grad) => {
      seen += 1;
      return grad.mul(2);
    });
    const [first] = torch.autograd.grad(y.square().sum(), [leaf], { createGraph: true });
    const [second] = torch.autograd.grad(first.sum(), [leaf]);
    assert.ok(seen >= 1);
    return [first.detach(), second];
  },
);
same(
  'autograd.Function',
  () => [r(6)],
  (x) => {
    class Cube extends torch.autograd.Function {
      static forward(ctx, input) {
        ctx.saveForBackward(input);
        return input.pow(3);
      }
      static backward(ctx, grad) {
        const [input] = ctx.savedTensors;
        return grad.mul(input.pow(2)).mul(3);
      }
    }
    const leaf = x.detach().clone().requiresGrad_();
    Cube.apply(leaf).sum().backward();
    return [leaf.grad];
  },
);

check('copies between CPU and device, item, toArray, data', () => {
  torch.scope(() => {
    const x = torch.arange(6, { device, dtype: 'float32' }).reshape([2, 3]);
    assert.deepEqual(x.toArray(), [
      [0, 1, 2],
      [3, 4, 5],
    ]);
    assert.equal(x.at(1, 2).item(), 5);
    assert.deepEqual([...x.cpu().toTypedArray()], [0, 1, 2, 3, 4, 5]);
    assert.deepEqual([...x.toTypedArray()], [0, 1, 2, 3, 4, 5]);
    assert.deepEqual(torch.tensor([1, 2], { device }).toArray(), [1, 2]);
    assert.match(`${x}`, /cuda:0|device/);
    assert.equal(x.cuda().device, 'cuda:0');
    assert.equal(x.to('cpu').to('cuda:0').sum().item(), 15);
    const pinned = torch.ones([4]).pinMemory();
    assert.equal(pinned.isPinned(), true);
    assert.equal(pinned.to('cuda', { nonBlocking: true }).sum().item(), 4);
  });
});

check('tensors of two devices are an error with both devices', () => {
  torch.scope(() => {
    assert.throws(
      () => torch.ones([2], { device }).add(torch.ones([2])),
      (error) => {
        console.log(`  ${error.code}: ${error.message.split('\n').join('\n  ')}`);
        assert.match(error.message, /cuda:0/);
        assert.match(error.message, /cpu/);
        return typeof error.code === 'string';
      },
    );
    assert.throws(
      () => torch.ones([2], { device: 'cuda:99' }),
      (error) => {
        console.log(`  ${error.code}: ${error.message}`);
        return typeof error.code === 'string';
      },
    );
    assert.throws(
      () => torch.ones([2, 3], { device }).matmul(torch.ones([2, 3], { device })),
      /shapes cannot be multiplied/,
    );
  });
});

check('a generator on the device', () => {
  torch.scope(() => {
    const generator = new torch.Generator('cuda');
    generator.manualSeed(7);
    const a = torch.rand([4], { device, generator }).toArray();
    generator.manualSeed(7);
    assert.deepEqual(torch.rand([4], { device, generator }).toArray(), a);
    torch.manualSeed(3);
    const b = torch.randn([4], { device }).toArray();
    torch.manualSeed(3);
    assert.deepEqual(torch.randn([4], { device }).toArray(), b);
  });
});

check('torch.async, torch.run and a chain', async () => {
  const a = torch.randn([512, 512], { device });
  const c = await torch.async.matmul(a, a);
  const expected = a.matmul(a);
  assert.ok(torch.allclose(c, expected, { rtol: 1e-3, atol: 1e-3 }));
  const s = await torch.run(() => torch.scope(() => a.mul(2).sum()));
  assert.ok(Math.abs(s.item() - a.sum().item() * 2) < 1);
  for (const x of [a, c, expected, s]) x.dispose();
});

check('torch.capture replays on the device', () => {
  torch.scope(() => {
    const replay = torch.capture((x) => x.mul(2).add(1).relu());
    for (let i = 0; i < 4; i++) {
      const x = torch.randn([32], { device });
      assert.ok(torch.equal(replay(x), x.mul(2).add(1).relu()));
    }
  });
});

check('nothing is left', async () => {
  await collected(() => torch.memory().tensors === 0);
  assert.equal(held(), 0);
});

await runAll('compute');
