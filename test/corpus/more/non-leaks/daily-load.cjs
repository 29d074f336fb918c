// A load that rises and falls like a day's, with as many open requests.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const open = [];

steps((i) => {
  const wanted = Math.round(20 + 15 * Math.sin(i / 9));
  while (open.length < wanted) open.push(torch.zeros([140]));
  while (open.length > wanted) open.shift().dispose();
});
