/**
 * libtorch-node with the model of the case `cnn` as a user would serve it: PyTorch's script of it, after
 * torch.jit.optimizeForInference. The last argument is the Python that writes the script.
 */
'use strict';

const { execFileSync } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const torch = require('libtorch-node');
const { filled, serve, sizesOf } = require('./serve.cjs');

const words = process.argv.slice(2);
const sizes = sizesOf(words);
torch.setNumThreads(1);

const folder = mkdtempSync(path.join(tmpdir(), 'bench-peers-'));
let model;
try {
  const file = path.join(folder, 'cnn.pt');
  execFileSync(words.at(-1), [path.join(__dirname, 'pytorch.py'), ...words.slice(0, 5), file]);
  model = torch.jit.optimizeForInference(torch.jit.load(file));
} finally {
  rmSync(folder, { recursive: true });
}

const images = torch.tensor(filled(sizes.images * 256, 16)).reshape([sizes.images, 1, 16, 16]);
void serve({
  cnn: {
    run: (count) =>
      torch.scope(() => {
        for (let i = 0; i < count; i++) model.forward(images);
      }),
    values: () => torch.scope(() => model.forward(images).reshape([-1]).toTypedArray()),
  },
});
