/**
 * A training run with checkpoints: `node killed.mjs FILE EVERY EPOCHS`. It continues from FILE if that is there. The
 * checkpoint has the samples in the order in which they were used, and the weights; at the end it prints them.
 */
import { existsSync } from 'node:fs';
import torch from 'libtorch-node';

torch.setNumThreads(1);
const [file, every, epochs] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const { DataLoader, TensorDataset } = torch.utils.data;
const ROWS = 203;
torch.manualSeed(1);
const x = torch.randn([ROWS, 4]);
const y = x.sum([1], true);
const generator = new torch.Generator().manualSeed(7);
const loader = new DataLoader(new TensorDataset(x, y, torch.arange(ROWS)), { batchSize: 5, shuffle: true, generator });
const w = torch.zeros([4, 1]).requiresGrad_();
const optimizer = new torch.optim.SGD([w], { lr: 0.01, momentum: 0.9 });
let seen = [];

if (existsSync(file)) {
  const saved = torch.load(file);
  torch.noGrad(() => w.copy_(saved.w));
  optimizer.loadStateDict(saved.optimizer);
  loader.loadStateDict(saved.loader);
  seen = [...saved.seen.toTypedArray()].map(Number);
}
console.log(`from ${seen.length}`);

let steps = 0;
while (loader.epoch < epochs) {
  for (const [rows, sums, indices] of loader) {
    torch.scope(() => {
      optimizer.zeroGrad();
      rows.matmul(w).sub(sums).square().mean().backward();
      optimizer.step();
    });
    seen.push(...indices.toArray());
    torch.disposeAll([rows, sums, indices]);
    if (++steps % every === 0) {
      torch.scope(() => {
        const state = { w: w.detach(), optimizer: optimizer.stateDict(), loader: loader.stateDict() };
        torch.save({ ...state, seen: torch.tensor(seen, { dtype: 'int64' }) }, file);
      });
      console.log(`saved ${seen.length}`);
    }
  }
}
console.log(`END ${JSON.stringify({ seen, w: w.detach().flatten().toArray() })}`);
