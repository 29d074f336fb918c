/**
 * Counts leftover hook functions and tensors after the tensors with the hooks are freed.
 *
 *   node --expose-gc hook-memory.cjs LIB dispose|scope|remove|dropped
 */
'use strict';

const { setImmediate: turn } = require('node:timers/promises');

const [lib, how] = process.argv.slice(2);
const torch = require(lib);
const COUNT = 50;
let closures = 0;
const gone = new FinalizationRegistry(() => closures--);

/** A hook that refers to `held`: its own tensor, or nothing. */
function hookOf(held) {
  const hook = () => void held?.shape;
  closures++;
  gone.register(hook, 0);
  return hook;
}

function once() {
  const x = torch.tensor([1, 2], { requiresGrad: true });
  const h = x.mul(2);
  if (how === 'dropped') {
    h.registerHook(hookOf(null));
    x.registerHook(hookOf(null));
    x.registerPostAccumulateGradHook(hookOf(null));
  } else {
    const handles = [h.registerHook(hookOf(h)), x.registerHook(hookOf(x))];
    handles.push(x.registerPostAccumulateGradHook(hookOf(x)));
    h.sum().backward();
    if (how === 'remove') for (const handle of handles) handle.remove();
    if (how === 'dispose') for (const tensor of [h, x]) tensor.dispose();
  }
}

async function main() {
  for (let i = 0; i < COUNT; i++) how === 'scope' ? torch.scope(once) : once();
  for (let tries = 0; tries < 200 && (closures > 0 || torch.memory().tensors > 0); tries++) {
    global.gc();
    await turn();
  }
  console.log(JSON.stringify({ closures, tensors: torch.memory().tensors }));
}

main();
