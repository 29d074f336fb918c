/**
 * Every generated function and method, each of its signatures, with each argument in the forms that run user code.
 *
 *   generated.cjs LIB {"seed": 1, "all": false, "mirror": false}
 *
 * `mirror`: the functions through torch.async, from the same list. They return promises, after they have read all arguments.
 * Prints one JSON line: the number of calls, and the failures.
 */
'use strict';

const assert = require('node:assert');
const { types } = require('node:util');
const { argumentMaker, variants } = require('../support/arguments.cjs');
const { wrapperTables } = require('../support/wrappers.cjs');
const { hostileKit } = require('./hostile.cjs');

const [lib, text] = process.argv.slice(2);
const { seed, all, share = 0, shares = 1, mirror = false } = JSON.parse(text);
const { torch, Run, names, state, checkAfter, checkPromises, outcomeOf, same, forms, read, tensorsLeft } =
  hostileKit(lib);
const maker = argumentMaker(lib);
const { signaturesOf, wrappers } = wrapperTables(lib);

/** Values for parameters of any type; others get lists of numbers. */
const any = {
  split_size_or_sections: 1,
  buffer: new Float32Array(4),
  dims: 1,
  p: 2,
  device: null,
  o: 1,
  debug_mode: 0,
};
const argumentOf = (param, variant) =>
  param.type.base === 'A' ? (Object.hasOwn(any, param.name) ? any[param.name] : [1, 2]) : maker.value(param, variant);
const valuesOf = ({ params }, variant, sparingly = false) =>
  params.map((param) => (sparingly && param.optional ? undefined : argumentOf(param, variant)));

let turn = seed;
const wrong = [];
const counts = { functions: 0, signatures: 0, calls: 0 };

/** The arguments of a call, with one of them in another form: positional as far as possible. */
function argumentsOf({ params, self }, values, method, at, form) {
  const positional = [];
  const options = {};
  params.forEach((param, i) => {
    if ((method && i === self) || values[i] === undefined) return;
    const value = i === at && form !== 'getter' ? form : values[i];
    if (i === at && form === 'getter') return;
    if (param.keywordOnly || param.out || positional.length < i - (method && self < i ? 1 : 0)) {
      options[param.jsName] = value;
    } else positional.push(value);
  });
  return [positional, options];
}

/** The forms of one argument, each made for a run of a callback. */
function formsOf(param, value) {
  const { type } = param;
  const list = [];
  if (!param.out && !param.variadic) list.push(['getter', () => 'getter']);
  if (Array.isArray(value) && value.length > 0) {
    list.push(
      ['accessor', (fire) => forms.withAccessor(value, fire)],
      ['Proxy', (fire) => forms.withProxy(value, fire)],
    );
    if (type.base === 'T') list.push(['generator', (fire) => forms.generated(value, fire)]);
  } else if (value instanceof torch.Tensor && !param.out) {
    list.push(['Proxy of a tensor', (fire) => forms.proxied(value, fire)]);
  } else if (value instanceof torch.Complex) list.push(['accessor', (fire) => forms.complexOf(value, fire)]);
  return list;
}

/** Ops with uninitialized results. `set` of a tensor whose storage is too small for its elements enlarges the storage. */
const uninitialised = /empty|resize|_weightNormInterface|_histogramddBinEdges|\bset_? \(/i;

/** Functions that make a tensor from JavaScript data, also through torch.async. */
const atOnce = /^\.(?:asTensor|asarray|frombuffer) /;

/** A variant of arguments that works. */
function workingVariant(call) {
  for (const variant of variants.slice(0, 6)) {
    const first = torch.scope(() => outcomeOf(() => call(variant)));
    if (first.code === undefined) return { variant, first };
  }
  return undefined;
}

async function check(label, sig, { fn, space, mirrored }) {
  const method = space === 'Tensor';
  if (method && sig.self < 0) return;
  const plainCall = (variant) => {
    torch.manualSeed(0);
    const values = valuesOf(sig, variant, true);
    const [positional, options] = argumentsOf(sig, values, method, -1);
    return Reflect.apply(fn, method ? values[sig.self] : undefined, [...positional, options]);
  };
  const found = workingVariant(plainCall);
  if (found === undefined) return;
  counts.signatures++;
  const { variant, first } = found;
  const again = torch.scope(() => outcomeOf(() => plainCall(variant)));
  const steady = same(first, again) && !uninitialised.test(label);
  for (let at = 0; at < sig.params.length; at++) {
    if (method && at === sig.self) continue;
    const kinds = torch.scope(() => {
      const [value] = valuesOf({ ...sig, params: [sig.params[at]] }, variant);
      return formsOf(sig.params[at], value).map(([kind]) => kind);
    });
    for (const kind of kinds) {
      const chosen = all ? names : [names[turn++ % names.length]];
      const how = { fn, mirrored, method, variant, at, kind, first, steady };
      const tried = mirror ? oneMirrored : one;
      for (const name of chosen) await tried(label, sig, { ...how, name });
    }
  }
}

/** A call with one argument in the form `kind`, whose callback is `name`. */
function prepared(sig, { method, variant, at, kind, name }) {
  torch.manualSeed(0);
  const values = valuesOf(sig, variant, true);
  // An omitted optional argument has a value here, so the result may differ.
  const given = values[at] !== undefined;
  if (!given) [values[at]] = valuesOf({ ...sig, params: [sig.params[at]] }, variant);
  const run = new Run(name, () => values.find((value) => value instanceof torch.Tensor)?.dispose());
  const form = formsOf(sig.params[at], values[at]).find(([other]) => other === kind)[1](() => run.fire());
  const [positional, options] = argumentsOf(sig, values, method, at, form);
  if (kind === 'getter') {
    const { jsName } = sig.params[at];
    Object.defineProperty(options, jsName, { enumerable: true, get: () => read(() => run.fire(), values[at]) });
  }
  return { run, values, given, args: [...positional, options] };
}

async function one(label, sig, { fn, method, variant, at, kind, name, first, steady }) {
  const where = `${label}, ${sig.params[at].jsName} as ${kind}, ${name}`;
  const tensors = torch.memory().tensors;
  counts.calls++;
  if (process.env.LTN_REENTRANCY_TRACE) require('node:fs').writeSync(2, `${where}\n`);
  let run;
  try {
    let outcome;
    torch.scope(() => {
      const { values, given, args, ...made } = prepared(sig, { method, variant, at, kind, name });
      run = made.run;
      const before = state();
      outcome = outcomeOf(
        () => Reflect.apply(fn, method ? values[sig.self] : undefined, args),
        () => {
          run.over = true;
        },
      );
      checkAfter(run, before);
      if (kind === 'getter') assert(run.runs === 1, `the getter ran ${run.runs} times`);
      if (run.runs > 0 && name === 'throw') assert(outcome.code === 'mine', `its error is lost: ${outcome.code}`);
      if (!given || name === 'throw' || name === 'dispose' || !steady) return;
      // Options after a gap need names, which some overloads parse as another call: then both are refused.
      assert(same(outcome, first), `another result: ${JSON.stringify([outcome, first])}`.slice(0, 600));
    });
    await checkPromises(run);
    const left = await tensorsLeft(tensors);
    assert(left <= 0, `${left} tensors are left`);
  } catch (error) {
    wrong.push(`${where}: ${error.message}`);
  }
}

/** The result of a promise of torch.async. */
const settled = (promise, ended = () => {}) =>
  promise.then(
    (value) => {
      ended(value);
      return outcomeOf(() => value);
    },
    (error) =>
      outcomeOf(() => {
        throw error;
      }),
  );

/** The same through torch.async. All of the program's values are read when it returns. */
async function oneMirrored(label, sig, { mirrored, variant, at, kind, name, steady }) {
  const where = `torch.async${label}, ${sig.params[at].jsName} as ${kind}, ${name}`;
  const tensors = torch.memory().tensors;
  counts.calls++;
  if (process.env.LTN_REENTRANCY_TRACE) require('node:fs').writeSync(2, `${where}\n`);
  let run;
  try {
    await torch.scope(async () => {
      torch.manualSeed(0);
      const [positional, options] = argumentsOf(sig, valuesOf(sig, variant, true), false, -1);
      const first = await settled(mirrored(...positional, options));
      const { given, args, ...made } = prepared(sig, { method: false, variant, at, kind, name });
      run = made.run;
      const before = state();
      const promise = mirrored(...args);
      const { runs } = run;
      checkAfter(run, before);
      const outcome = await settled(promise, (value) => {
        run.over = true;
        // A promise reads `then` of its value: here the program's own Proxy, which an in-place op returns.
        const late = run.runs - runs;
        assert(late === 0 || types.isProxy(value), `the callback ran ${late} times after the call had returned`);
      });
      checkAfter(run, before);
      await checkPromises(run);
      if (kind === 'getter') assert(runs === 1, `the getter ran ${runs} times`);
      if (runs > 0 && name === 'throw') assert(outcome.code === 'mine', `its error is lost: ${outcome.code}`);
      if (!given || name === 'throw' || name === 'dispose' || !steady) return;
      // It is made when the call is read, so it belonged to the scope that the callback left open, and that has ended.
      if (atOnce.test(label) && name === 'scope left open' && outcome.code === 'ERR_TORCH_DISPOSED') return;
      assert(same(outcome, first), `another result: ${JSON.stringify([outcome, first])}`.slice(0, 600));
    });
    await new Promise(setImmediate);
    const left = await tensorsLeft(tensors);
    assert(left <= 0, `${left} tensors are left`);
  } catch (error) {
    wrong.push(`${where}: ${error.message}`);
  }
}

(async () => {
  let number = 0;
  for (const wrapper of wrappers({ mirror })) {
    if (number++ % shares !== share) continue;
    const signatures = signaturesOf(wrapper.space, wrapper.name, wrapper.fn);
    if (signatures.length > 0) counts.functions++;
    const chosen = all ? signatures : signatures.slice(0, 2);
    for (const sig of chosen) await check(`${wrapper.space}.${wrapper.name} (${sig.name})`, sig, wrapper);
  }
  console.log(JSON.stringify({ ...counts, wrong }));
})();
