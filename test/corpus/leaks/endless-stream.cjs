// Chunks are collected until the end of an endless stream.
const torch = require('libtorch-node');
const steps = require('../steps.cjs');
const { PassThrough } = require('node:stream');
const stream = new PassThrough({ objectMode: true });
const chunks = [];
stream.on('data', (chunk) => chunks.push(chunk));
stream.on('end', () => torch.cat(chunks));

steps(() => {
  stream.write(torch.randn([80])); // LEAK
});
