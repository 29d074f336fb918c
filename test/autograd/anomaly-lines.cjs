/** Messages of failing backwards, with the lines of the forward calls. Plain JavaScript, so that lines are not transformed. */
'use strict';

const torch = require(process.argv[2]);

const { detectAnomaly, setDetectAnomaly, grad, backward } = torch.autograd;
const leaf = (...data) => torch.tensor(data, { requiresGrad: true });
const here = () => Number(/:(\d+):\d+\)?$/.exec(new Error().stack.split('\n')[2])[1]);
const messageOf = (fn) => {
  try {
    fn();
  } catch (error) {
    return error.message;
  }
  return 'nothing was thrown';
};
const results = [];
const nan = (x) => detectAnomaly(() => [x.mul(0).div(x.mul(0)).sum(), here()]);

for (const run of [(y) => y.backward(), (y, x) => grad(y, x), (y) => backward(y)]) {
  const x = leaf(0, 1);
  const [y, line] = nan(x);
  setDetectAnomaly(true);
  results.push([messageOf(() => run(y, x)), line]);
}

setDetectAnomaly(true, { checkNan: false });
{
  const [y, line] = [leaf(1, 2).exp(), here()];
  y.detach().add_(1);
  results.push([messageOf(() => y.sum().backward()), line]);
}
{
  const x = leaf(0);
  const [y, line] = [x.sqrt(), here()];
  const [d] = grad(y.sum(), x, { createGraph: true });
  setDetectAnomaly(true);
  results.push([messageOf(() => grad(d.mul(0).sum(), x)), line]);
}
console.log(JSON.stringify(results));
