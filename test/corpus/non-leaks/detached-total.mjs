// A running loss as it should be: what is added is detached.
import torch from 'libtorch-node';
import steps from '../steps.cjs';

const w = torch.randn([64, 1], { requiresGrad: true });
let total = torch.zeros([]);

await steps(() => {
  const loss = torch.randn([32, 64]).matmul(w).square().mean();
  total = total.add(loss.detach());
});
