// A replay buffer of fixed size, in which a random old entry makes room, among the garbage of what is drawn from it.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const SIZE = 40;
const buffer = [];
let seed = 7;
const random = (n) => {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  return seed % n;
};

steps(() => {
  const observed = torch.randn([64]);
  if (buffer.length < SIZE) buffer.push(observed);
  else buffer[random(SIZE)] = observed;
  const batch = Array.from({ length: 8 }, () => buffer[random(buffer.length)]);
  torch.stack(batch).mean().item();
});
