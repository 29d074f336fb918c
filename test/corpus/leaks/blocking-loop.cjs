// A loop that never comes to the event loop: neither timers nor messages have their turn.
const torch = require('libtorch-node');
const w = torch.randn([64, 1], { requiresGrad: true });
const wait = new Int32Array(new SharedArrayBuffer(4));
let total = torch.zeros([]);

for (let i = 0; i < 260; i++) {
  const loss = torch.randn([32, 64]).matmul(w).square().mean();
  total = total.add(loss); // LEAK
  for (let k = 0; k < 4; k++) torch.ones([8]).mul(k).sum().item();
  Atomics.wait(wait, 0, 0, 10);
}
process.exit(0);
