// A stream's consumer stops reading, and the producer ignores what write() returns.
const { Transform } = require('node:stream');
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const scale = new Transform({ objectMode: true, transform: (frame, _, done) => done(null, frame) });

steps((i) => {
  scale.write(torch.zeros([16, 16])); // LEAK
  if (i < 10) scale.read();
});
