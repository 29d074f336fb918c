/**
 * Copies of the library, each used in another way and dropped; prints which of them were freed: `copies.cjs LIB`, with --expose-gc.
 */
'use strict';

const [lib] = process.argv.slice(2);

const uses = {
  ops: (torch) => torch.ones([2]).add(1),
  scopes: (torch) =>
    torch.scope(async () => {
      await null;
      return torch.ones([2]);
    }),
  anomaly: (torch) =>
    torch.autograd.detectAnomaly(() => torch.ones([2], { requiresGrad: true }).mul(2).sum().backward()),
  hooks: (torch) => torch.ones([2], { requiresGrad: true }).registerHook((gradient) => gradient),
  async: (torch) => torch.async.ones([2]),
  run: (torch) => torch.run((t) => t.ones([2]).sum().item()),
  modules: (torch) => new torch.nn.Linear(2, 2).forward(torch.ones([1, 2])),
};

function fresh() {
  for (const file of Object.keys(require.cache)) if (file.startsWith(lib)) delete require.cache[file];
  const torch = require(lib);
  module.children.length = 0; // where Node lists what this file has loaded
  return torch;
}

async function used(use) {
  const torch = fresh();
  await use(torch);
  return new WeakRef(torch);
}

async function main() {
  fresh();
  const dropped = {};
  for (const [name, use] of Object.entries(uses)) dropped[name] = await used(use);
  const last = fresh();
  const kept = () => Object.keys(dropped).filter((name) => dropped[name].deref() !== undefined);
  for (let tries = 0; tries < 50 && kept().length > 0; tries++) {
    for (let i = 0; i < 500; i++) await null; // Node's hooks for scopes are disabled once promises do without them
    await new Promise(setImmediate);
    global.gc();
  }
  console.log(JSON.stringify({ dropped: Object.keys(dropped), kept: kept(), last: last.ones([2]).shape }));
}

main();
