/**
 * Makes one call of a plan (plan.cjs) and judges it: what comes back without a code, and what is still live after everything was
 * disposed of and collected. A process that loads it has its tensors limited.
 */
'use strict';

const path = require('node:path');
const { fileTargetsOf } = require('./file-targets.cjs');
const { byName, targetsOf } = require('./targets.cjs');
const { makerOf } = require('./values.cjs');

/** What is live at most. A hostile size ends at the limit. */
const LIMIT_BYTES = 256 * 1024 * 1024;

/**
 * An error of a call has a code of the library; an error of the file system that of Node (docs/errors.md). What a given function
 * throws is not changed: a class (values.cjs) throws when it is called as a function.
 */
const hasCode = (error) =>
  typeof error === 'object' &&
  error !== null &&
  (String(error.code).startsWith('ERR_TORCH_') ||
    (typeof error.syscall === 'string' && typeof error.errno === 'number') ||
    (error instanceof TypeError && error.message.startsWith('Class constructor')));

/** `found` is called with each finding; `counted` with 'result' or 'error' for each call. */
function callerOf(lib, { found, counted, captureFile }) {
  const torch = require(path.join(lib, 'index.js'));
  const { collectAll } = require(path.join(lib, 'memory/collector.js'));
  const { valuesOf } = makerOf(torch, fileTargetsOf(lib, torch, captureFile).good);
  const all = targetsOf(lib);
  const targets = byName(all);
  torch.setMemoryLimit(LIMIT_BYTES);

  const held = () => {
    const { tensors, storages, bytes } = torch.memory();
    return `${tensors} tensors, ${storages} storages, ${bytes} bytes`;
  };

  /** Frees every tensor and other resource in a result. */
  function free(value, depth = 0) {
    if (typeof value !== 'object' || value === null || depth > 3) return;
    if (typeof value.dispose === 'function') value.dispose();
    else if (value instanceof ReadableStream) void value.cancel();
    else if (!ArrayBuffer.isView(value)) for (const item of Object.values(value)) free(item, depth + 1);
  }

  function tensorsIn(value, into = [], depth = 0) {
    if (value instanceof torch.Tensor) into.push(value);
    else if (typeof value === 'object' && value !== null && depth < 3 && !ArrayBuffer.isView(value)) {
      for (const item of Object.values(value)) tensorsIn(item, into, depth + 1);
    }
    return into;
  }

  function backward(result) {
    for (const tensor of tensorsIn(result)) {
      if (!tensor.disposed && tensor.requiresGrad) torch.scope(() => tensor.backward(torch.onesLike(tensor)));
    }
  }

  function make(plan, target, args) {
    if (plan.through === 'async') return Reflect.apply(target.async, undefined, args);
    const [fn, self, given] = target.method ? [target.fn, args[0], args.slice(1)] : [target.fn, undefined, args];
    if (plan.through === 'run') return torch.run(() => Reflect.apply(fn, self, given));
    return Reflect.apply(fn, self, given);
  }

  function judge(error, plan) {
    counted('error');
    if (!hasCode(error)) found({ kind: 'no code', plan, detail: String(error?.stack ?? error).slice(0, 400) });
  }

  function checkLeft(before, plan) {
    if (held() === before) return;
    collectAll();
    const after = held();
    if (after !== before) found({ kind: 'left', plan, detail: `${before} before, ${after} after` });
  }

  /** Makes the call of a plan; a promise if the call gave one. `number` seeds the generator. */
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
      counted('result');
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

  return { torch, targets, all, call, judge };
}

/** The targets whose 'kind name' matches; all without a pattern. */
const chosenOf = (all, only) =>
  only === undefined ? all : all.filter(({ name, kind }) => new RegExp(only).test(`${kind} ${name}`));

module.exports = { callerOf, chosenOf };
