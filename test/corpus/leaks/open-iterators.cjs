// Readers read the first batch and leave the iterator open.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const open = [];

function* batches() {
  const data = torch.randn([10, 30]); // LEAK
  for (let i = 0; i < 10; i++) yield i;
  data.dispose();
}

steps(() => {
  const reader = batches();
  reader.next();
  open.push(reader);
});
