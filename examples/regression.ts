/**
 * Linear regression by gradient descent: autograd finds the slopes and the offset behind noisy points.
 * `node examples/regression.js`
 */
import torch from 'libtorch-node';

const POINTS = 200;
const STEPS = 300;
const RATE = 0.1;

torch.manualSeed(0);
const x = torch.randn([POINTS, 2]);
const noise = torch.randn([POINTS]).mul(0.1);
const y = x
  .matmul(torch.tensor([3, -2]))
  .add(0.5)
  .add(noise);

const slopes = torch.zeros([2], { requiresGrad: true });
const offset = torch.zeros([], { requiresGrad: true });

/** One step of gradient descent. Returns the loss before it. */
function step(): number {
  const loss = x.matmul(slopes).add(offset).sub(y).square().mean();
  loss.backward();
  torch.noGrad(() => {
    for (const parameter of [slopes, offset]) {
      parameter.sub_(parameter.grad!.mul(RATE));
      parameter.grad = null; // otherwise gradients accumulate
    }
  });
  return loss.item();
}

for (let i = 0; i <= STEPS; i++) {
  // The scope frees every tensor of the step; only the number is returned.
  const loss = torch.scope(step);
  if (i % 100 === 0) console.log(`step ${i}: loss ${loss.toFixed(4)}`);
}
const [first, second] = slopes.toArray();
console.log(`y = ${first!.toFixed(2)} a ${second!.toFixed(2)} b + ${offset.item().toFixed(2)}`);

// The same result by linear algebra: least squares over the points with a column of ones.
const { solution } = torch.linalg.lstsq(torch.cat([x, torch.ones([POINTS, 1])], 1), y.unsqueeze(1));
const parameters = torch.cat([slopes.detach(), offset.detach().unsqueeze(0)]);
console.log(`least squares agrees: ${torch.allclose(solution.squeeze(1), parameters, { atol: 1e-3 })}`);
