// Results are shared for a consumer that has unsubscribed.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const outbox = [];

steps((i) => {
  torch.scope(() => {
    const result = torch.randn([40, 40]); // LEAK
    torch.ones([8]).mul(i).sum().item();
    outbox.push(result.share());
  });
});
