// The value that a FinalizationRegistry holds refers to its own target.
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const registry = new FinalizationRegistry(({ values }) => values.dispose());

steps(() => {
  const session = { values: torch.randn([100]) }; // LEAK
  registry.register(session, { values: session.values, of: [session] });
});
