/** The measurements behind the sections, made once, at first use, so that the goals and the tables come from one run. */
import { measureCalls } from './measure/calls.mjs';
import { measureData } from './measure/data.mjs';
import { measureDdp } from './measure/ddp.mjs';
import { measureDigits } from './measure/digits.mjs';
import { measureEveryday } from './measure/everyday.mjs';
import { measureExamples } from './measure/examples.mjs';
import { measureFiles } from './measure/files.mjs';
import { measureGuards } from './measure/guards.mjs';
import { measureMemory } from './measure/memory.mjs';
import { measureOps } from './measure/ops.mjs';
import { measureOptim } from './measure/optim.mjs';
import { measureScopes } from './measure/scopes.mjs';
import { measureTrain } from './measure/train.mjs';
import { goalLoops, goalOps, goalPasts } from './sections/goals.mjs';

/** @template T @param {() => Promise<T>} measure @returns {() => Promise<T>} */
function once(measure) {
  let result;
  return () => {
    result ??= measure();
    return result;
  };
}

/**
 * @param {import('./plan.mjs').Plan} plan
 * @param {string | undefined} python
 * @param {Set<string>} chosen sections: if only goals are chosen, only what they need is measured
 */
export const measurements = (plan, python, chosen) => ({
  ops: once(() => measureOps(plan, python, chosen.has('ops') ? undefined : goalOps)),
  memory: once(() => measureMemory(chosen.has('memory') ? Object.keys(plan.loops) : goalLoops, plan, python)),
  digits: once(() => measureDigits(plan, python)),
  calls: once(() => measureCalls(plan, chosen.has('calls'))),
  everyday: once(() => measureEveryday(plan, python)),
  examples: once(() => measureExamples(plan, python)),
  guards: once(() => measureGuards(plan)),
  optim: once(() => measureOptim(plan, python)),
  train: once(() => measureTrain(plan, python)),
  ddp: once(() => measureDdp(plan, python)),
  data: once(() => measureData(plan, python)),
  files: once(() => measureFiles(plan, python)),
  scopes: once(() => measureScopes(plan, chosen.has('scopes') ? undefined : goalPasts)),
});

/** @typedef {ReturnType<typeof measurements>} Measured */
