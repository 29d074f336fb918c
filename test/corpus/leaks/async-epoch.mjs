// Batches come asynchronously, are worked on off the main thread, and their losses are summed with their graphs.
import { setTimeout as pause } from 'node:timers/promises';
import torch from 'libtorch-node';

const w = torch.randn([64, 1], { requiresGrad: true });
let epochLoss = torch.zeros([]);

async function* batches() {
  for (let i = 0; i < 220; i++) {
    await pause(10);
    yield torch.randn([32, 64]);
  }
}

for await (const batch of batches()) {
  const predicted = await torch.async.matmul(batch, w);
  const loss = predicted.sub(1).square().mean();
  epochLoss = epochLoss.add(loss); // LEAK
}
process.exit(0);
