/** Keeps each tensor on the device if an argument says so. */
const torch = require('libtorch-node');

const kept = [];
const keeps = process.argv[2] === 'leak';
let left = 300;
const timer = setInterval(() => {
  const x = torch.ones([64, 64], { device: 'cuda' });
  if (keeps) kept.push(x);
  else x.dispose();
  if (--left === 0) clearInterval(timer);
}, 10);
