/**
 * Makes calls, and prints a JSON line for each finding that does not end the process.
 *
 *   child.cjs LIB {"seed": 1, "first": 0, "end": 100, "skip": [patterns of targets], "only": pattern, "progress": file}
 *   child.cjs LIB {"plans": file, "progress": file}      the plans of a file instead
 *   child.cjs LIB {"seed": 1, "show": [index]}           prints plans
 *
 * Before each call it writes to the file `progress`: its index and plan, and how many calls before it gave a result, or an error.
 * The file outlives the process.
 */
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { planOf } = require('./plan.cjs');
const { byName, targetsOf } = require('./targets.cjs');
const { makerOf } = require('./values.cjs');

const [lib, text] = process.argv.slice(2);
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
} = JSON.parse(text);
const torch = require(path.join(lib, 'index.js'));
const { collectAll } = require(path.join(lib, 'memory/collector.js'));
const { valuesOf } = makerOf(torch);

const all = targetsOf(lib);
const chosen = only === undefined ? all : all.filter(({ name, kind }) => new RegExp(only).test(`${kind} ${name}`));
const targets = byName(all);
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
const say = (value) => fs.writeSync(1, `${JSON.stringify(value)}\n`);

/** What is live. A hostile size ends at the limit. */
const LIMIT_BYTES = 256 * 1024 * 1024;
torch.setMemoryLimit(LIMIT_BYTES);
const held = () => {
  const { tensors, storages, bytes } = torch.memory();
  return `${tensors} tensors, ${storages} storages, ${bytes} bytes`;
};

const words = new Float64Array(4);
const file = progress === undefined ? undefined : fs.openSync(progress, 'w');
const tell = (index, plan) => {
  const text = Buffer.from(JSON.stringify(plan ?? null));
  words[0] = index;
  words[3] = text.byteLength;
  fs.writevSync(file, [words, text], 0);
};

/** Frees every tensor and other resource in a result. */
function free(value, depth = 0) {
  if (typeof value !== 'object' || value === null || depth > 3) return;
  if (typeof value.dispose === 'function') value.dispose();
  else if (value instanceof ReadableStream) void value.cancel();
  else if (!ArrayBuffer.isView(value)) for (const item of Object.values(value)) free(item, depth + 1);
}

function tensorsIn(value, found = [], depth = 0) {
  if (value instanceof torch.Tensor) found.push(value);
  else if (typeof value === 'object' && value !== null && depth < 3 && !ArrayBuffer.isView(value)) {
    for (const item of Object.values(value)) tensorsIn(item, found, depth + 1);
  }
  return found;
}

function backward(result) {
  for (const tensor of tensorsIn(result)) {
    if (!tensor.disposed && tensor.requiresGrad) torch.scope(() => tensor.backward(torch.onesLike(tensor)));
  }
}

function make(plan, target, args) {
  if (plan.through === 'async') return Reflect.apply(target.async, undefined, args);
  if (target.method) return Reflect.apply(target.fn, args[0], args.slice(1));
  return Reflect.apply(target.fn, undefined, args);
}

let current;
/** An error of a call has a code of the library; an error of the file system that of Node (docs/errors.md). */
const hasCode = (error) =>
  typeof error === 'object' &&
  error !== null &&
  (String(error.code).startsWith('ERR_TORCH_') ||
    (typeof error.syscall === 'string' && typeof error.errno === 'number'));

function judge(error, plan) {
  words[2]++;
  if (!hasCode(error)) {
    say({ kind: 'no code', plan, detail: String(error?.stack ?? error).slice(0, 400) });
  }
}

function checkLeft(before, plan) {
  if (held() === before) return;
  collectAll();
  const after = held();
  if (after !== before) say({ kind: 'left', plan, detail: `${before} before, ${after} after` });
}

/** Makes the call of a plan; a promise if the call gave one. */
function call(plan, number) {
  const target = targets.get(plan.target);
  if (target === undefined) return undefined;
  torch.manualSeed(number);
  const before = held();
  const made = valuesOf(plan);
  let result;
  const finish = () => {
    free(result);
    free(made.tensors);
    free(made.others);
    checkLeft(before, plan);
  };
  const settle = () => {
    if (plan.after === 'backward') backward(result);
    words[1]++;
  };
  try {
    result = make(plan, target, made.args);
    if (!(result instanceof Promise)) settle();
  } catch (error) {
    judge(error, plan);
  }
  if (!(result instanceof Promise)) return finish();
  const promise = result;
  result = undefined;
  return promise
    .then((value) => {
      result = value;
      settle();
    })
    .catch((error) => judge(error, plan))
    .then(finish);
}

process.on('unhandledRejection', (error) => judge(error, current));
process.on('uncaughtException', (error) => judge(error, current));

async function run() {
  const plans = planFile === undefined ? undefined : JSON.parse(fs.readFileSync(planFile, 'utf8'));
  const last = plans?.length ?? end;
  for (let i = plans === undefined ? first : 0; i < last; i++) {
    const plan = plans?.[i] ?? planOf(seed, i, chosen);
    tell(i, plan);
    if (isSkipped(plan.target)) continue;
    current = plan;
    const promise = call(plan, i);
    if (promise !== undefined) await promise;
  }
  tell(last);
  say({ kind: 'done' });
  process.exit(0);
}

if (show !== undefined) for (const index of show) say(planOf(seed, index, chosen));
else {
  run().catch((error) => {
    console.error(error);
    process.exit(1); // a fault of the fuzzer itself
  });
}
