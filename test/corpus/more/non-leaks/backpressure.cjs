// A stream whose producer waits until it is drained.
const { once } = require('node:events');
const { Writable } = require('node:stream');
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const sink = new Writable({
  objectMode: true,
  write(frame, _, done) {
    frame.dispose();
    setImmediate(done);
  },
});

steps(async () => {
  for (let k = 0; k < 3; k++) if (!sink.write(torch.zeros([16, 16]))) await once(sink, 'drain');
});
