// A memo of sixty keys in random order; after a while it has all of them.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const memo = new Map();
let seed = 12345;
const random = (n) => {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  return Math.floor((seed / 2147483648) * n);
};

steps(() => {
  for (let k = 0; k < 3; k++) {
    const key = random(60);
    if (!memo.has(key)) memo.set(key, torch.randn([128]));
  }
});
