/**
 * Makes calls, and prints a JSON line for each finding that does not end the process.
 *
 *   child.cjs LIB {"seed": 1, "first": 0, "end": 100, "skip": [patterns of targets], "only": pattern, "progress": file}
 *   child.cjs LIB {"plans": file, "progress": file}      the plans of a file instead
 *   child.cjs LIB {"seed": 1, "show": [index]}           prints plans
 *
 * With "sweep": name, the plans are those of a sweep (sweeps.cjs) instead of a seed's.
 *
 * With "trace": true each plan is also written to stderr before its call, between the reports of valgrind (memcheck.cjs).
 *
 * With "captureFile", children share the good capture that the first of them makes (file-targets.cjs).
 *
 * Before each call it writes to the file `progress`: its index and plan, and how many calls before it gave a result, or an error.
 * The file outlives the process.
 */
'use strict';

const fs = require('node:fs');
const { callerOf, chosenOf } = require('./caller.cjs');
const { planOf, plansOfSweep } = require('./plan.cjs');

const [lib, text] = process.argv.slice(2);
const options = JSON.parse(text);
const {
  seed,
  first = 0,
  end = 0,
  skip = [],
  only,
  plans: planFile,
  progress,
  show,
  planted = false,
  trace = false,
  captureFile,
  sweep,
} = options;

const words = new Float64Array(4);
const COUNTERS = { result: 1, error: 2 };
const say = (value) => fs.writeSync(1, `${JSON.stringify(value)}\n`);
const { torch, targets, all, call, judge } = callerOf(lib, {
  found: say,
  counted: (kind) => words[COUNTERS[kind]]++,
  captureFile,
});
const chosen = chosenOf(all, only);
/** Faults for the fuzzer's own test. */
if (planted) {
  const faults = {
    abort: () => process.abort(),
    'no code': () => JSON.parse('{'),
    leave: () => {
      globalThis.left = torch.ones([2]);
    },
    stay: () => {
      for (;;);
    },
  };
  for (const [name, fn] of Object.entries(faults)) targets.set(`planted.${name}`, { fn });
}
const patterns = skip.map((one) => new RegExp(one, 'i'));
const isSkipped = (target) => patterns.some((one) => one.test(target));

const file = progress === undefined ? undefined : fs.openSync(progress, 'w');
const tell = (index, plan) => {
  const text = Buffer.from(JSON.stringify(plan ?? null));
  words[0] = index;
  words[3] = text.byteLength;
  fs.writevSync(file, [words, text], 0);
};

const swept = sweep === undefined ? undefined : plansOfSweep(sweep, chosen);
const planAt = (index) => (swept === undefined ? planOf(seed, index, chosen) : swept[index]);

let current;
process.on('unhandledRejection', (error) => judge(error, current));
process.on('uncaughtException', (error) => judge(error, current));

async function run() {
  const plans = planFile === undefined ? undefined : JSON.parse(fs.readFileSync(planFile, 'utf8'));
  const last = plans?.length ?? end;
  for (let i = plans === undefined ? first : 0; i < last; i++) {
    const plan = plans?.[i] ?? planAt(i);
    tell(i, plan);
    if (isSkipped(plan.target)) continue;
    if (trace) fs.writeSync(2, `call ${JSON.stringify(plan)}\n`);
    current = plan;
    const promise = call(plan, i);
    if (promise !== undefined) await promise;
  }
  tell(last);
  say({ kind: 'done' });
  process.exit(0);
}

if (show !== undefined) for (const index of show) say(planAt(index));
else {
  run().catch((error) => {
    console.error(error);
    process.exit(1); // a fault of the fuzzer itself
  });
}
