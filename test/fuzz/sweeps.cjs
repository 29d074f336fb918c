/**
 * Plans of each of PyTorch's samples with one change, in the same order in each process: a sweep makes all of them once, where the
 * plans of a seed meet some. `aliases`: a result is a tensor that the op reads, or two results are the same. `sizes`, `dtypes`,
 * `forms`: of one tensor. `numbers`: one number, or one flag.
 */
'use strict';

const { guesses } = require('../support/arguments.cjs');
const { camel, isTensor, samplesFor } = require('./samples.cjs');

/** The values of a sample, each with a function that gives the sample with another value in its place. */
function placesOf(call) {
  const places = [];
  const visit = (value, put) => {
    places.push({ value, put });
    if (!Array.isArray(value)) return;
    for (const [i, one] of value.entries()) visit(one, (other) => put(value.with(i, other)));
  };
  for (const [i, one] of call.args.entries()) visit(one, (other) => ({ ...call, args: call.args.with(i, other) }));
  for (const [name, one] of Object.entries(call.options)) {
    visit(one, (other) => ({ ...call, options: { ...call.options, [name]: other } }));
  }
  return places;
}

/** The sample's values as those of a plan: each tensor has a dtype. */
function withDtypes([args, options], base) {
  const value = (given) => {
    if (Array.isArray(given)) return given.map(value);
    return isTensor(given) ? { tensor: given.tensor, dtype: given.dtype ?? base } : given;
  };
  const named = Object.entries(options).map(([name, one]) => [camel(name), value(one)]);
  return { args: args.map(value), options: Object.fromEntries(named) };
}

/** Sizes with one of them changed, and with a dimension more or less. */
function otherSizes(sizes) {
  const changed = sizes.flatMap((size, i) =>
    [size + 1, Math.max(0, size - 1), 0, 1].filter((other) => other !== size).map((other) => sizes.with(i, other)),
  );
  return [...changed, [...sizes, 1], [...sizes, 2], [1, ...sizes], sizes.slice(1), sizes.slice(0, -1)];
}

const changesOfTensors = (others) => (call) =>
  placesOf(call)
    .filter(({ value }) => isTensor(value))
    .flatMap(({ value, put }) => others(value).map(put));

function aliases(call, outs) {
  const tensors = placesOf(call).filter(({ value }) => isTensor(value));
  if (tensors.length === 0) return [];
  const plans = [];
  const { dtype } = tensors[0].value;
  for (const names of outs) {
    for (const [at, name] of names.entries()) {
      // Those of results: the last is the result before this one.
      const count = tensors.length + (at > 0 ? 1 : 0);
      for (let same = 0; same < count; same++) {
        for (const sizes of [[0], tensors[0].value.tensor]) {
          const made = (one) => ({ tensor: sizes, dtype: guesses.isInteger.test(one) ? 'int64' : dtype });
          const results = names.map((one) => [one, one === name ? { same } : made(one)]);
          plans.push({ ...call, options: { ...call.options, ...Object.fromEntries(results) } });
        }
      }
    }
  }
  return plans;
}

const sweeps = {
  aliases: { bases: ['float32', 'int64', 'complex64'], of: aliases },
  sizes: {
    bases: ['float32'],
    of: changesOfTensors((value) => otherSizes(value.tensor).map((tensor) => ({ ...value, tensor }))),
  },
  dtypes: {
    bases: ['float32', 'float64'],
    of: (call, _outs, { DTYPES }) =>
      changesOfTensors((value) => [...new Set(DTYPES)].map((dtype) => ({ ...value, dtype })))(call),
  },
  forms: {
    bases: ['float32', 'bfloat16'],
    of: (call, _outs, { FORMS }) => changesOfTensors((value) => FORMS.map((form) => ({ ...value, form })))(call),
  },
  numbers: {
    bases: ['float32'],
    of: (call, _outs, { FLOATS, INTEGERS }) =>
      placesOf(call).flatMap(({ value, put }) => {
        if (typeof value === 'boolean') return [put(!value)];
        if (Number.isInteger(value)) return [value - 1, value + 1, ...INTEGERS].map(put);
        return typeof value === 'number' ? FLOATS.map(put) : [];
      }),
  },
};

/** The plans of a sweep. `lists` are those of plan.cjs. */
function sweepPlans(name, targets, lists) {
  const { bases, of } = sweeps[name];
  const plans = new Set();
  for (const { target, outs, calls } of samplesFor(targets)) {
    for (const sample of calls) {
      for (const base of bases) {
        for (const { args, options } of of(withDtypes(sample, base), outs, lists)) {
          const named = Object.keys(options).length > 0 ? { options } : {};
          plans.add(JSON.stringify({ target: target.name, args, ...named, after: 'backward' }));
        }
      }
    }
  }
  return [...plans].map((text) => JSON.parse(text));
}

module.exports = { sweepNames: Object.keys(sweeps), sweepPlans };
