// An agent's state is carried from episode to episode with its graph.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const w = torch.randn([16, 16], { requiresGrad: true });
const agent = { state: torch.zeros([1, 16]) };

steps(() => {
  for (let k = 0; k < 3; k++) {
    agent.state = agent.state.matmul(w).tanh(); // LEAK
  }
  agent.state.sum().item();
});
