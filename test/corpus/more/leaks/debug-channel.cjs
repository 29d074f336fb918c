// A subscriber of diagnostics_channel collects the inputs of slow requests.
const { channel } = require('node:diagnostics_channel');
const torch = require('libtorch-node');
const steps = require('../../steps.cjs');
const requests = channel('service:request');
const slow = [];
requests.subscribe(({ input, ms }) => ms % 3 === 0 && slow.push(input));

steps((i) => {
  const input = torch.randn([96, 2]); // LEAK
  requests.publish({ input, ms: i });
});
