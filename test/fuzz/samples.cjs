/**
 * Plans from PyTorch's own samples (samples.json, written by samples.py): calls whose values fit each other, a few of them changed.
 * They reach kernels that values without relations to each other do not.
 */
'use strict';

const { guesses } = require('../support/arguments.cjs');
const samples = require('./samples.json');

/** Where a sample's function can be besides `torch`: PyTorch's name of the sample may lack the namespace. */
const SPACES = ['linalg', 'fft', 'special', 'sparse'];
const camel = (name) => name.replace(/_+([a-z0-9])/g, (_, letter) => letter.toUpperCase());

/** The names that the target of a sample can have: a function, or else a method. */
function targetNames(name) {
  const parts = name.split('.');
  const last = camel(parts.pop());
  if (parts.length > 0) return [`${parts.join('.')}.${last}`];
  return [`torch.${last}`, `Tensor.${last}`, ...SPACES.map((space) => `${space}.${last}`)];
}

/** By signature of a function, the names of the tensors that it can write its results into. */
const outsOf = (targets, full) =>
  targets
    .filter(({ name, params }) => name === full && params?.some(({ out }) => out))
    .map(({ params }) => params.filter(({ out, type }) => out && !type.list).map(({ jsName }) => jsName));

/** The samples by a list of targets. */
const lists = new WeakMap();
function samplesFor(targets) {
  if (!lists.has(targets)) {
    const byName = new Map(targets.map((target) => [target.name, target]));
    const found = Object.entries(samples).flatMap(([name, calls]) =>
      targetNames(name)
        .filter((full) => byName.has(full))
        .map((full) => ({ target: byName.get(full), outs: outsOf(targets, full), calls })),
    );
    lists.set(targets, found);
  }
  return lists.get(targets);
}

const isTensor = (value) => typeof value === 'object' && value !== null && Array.isArray(value.tensor);

/** A plan of one of them, or undefined if none of the targets has a sample. The last argument is the lists of plan.cjs. */
function samplePlan(random, targets, { DTYPES, FILLS, FLOATS, FORMS, INTEGERS, SHAPES, STRINGS, WRONG }) {
  const known = samplesFor(targets);
  if (known.length === 0) return undefined;
  const { below, chance, pick } = random;
  const { target, outs, calls } = pick(known);
  const [args, options] = pick(calls);
  const base = pick(DTYPES);
  const wildness = pick([0, 0.05, 0.05, 0.15, 0.3]);
  let tensors = 0;

  /** The sizes with one of them changed by one, to 0 or 1, or with a dimension more or less. */
  function otherSizes(sizes) {
    const at = below(sizes.length + 1);
    if (at === sizes.length) return chance(0.5) ? [...sizes, pick([0, 1, 2])] : sizes.slice(1);
    const next = [sizes[at] + 1, Math.max(0, sizes[at] - 1), 0, 1];
    return sizes.map((size, i) => (i === at ? pick(next) : size));
  }

  function tensor({ tensor: sizes, dtype = base }) {
    if (tensors > 0 && chance(wildness / 6)) return { same: below(tensors) };
    tensors++;
    const made = { tensor: sizes, dtype };
    if (chance(wildness)) made.tensor = chance(0.7) ? otherSizes(sizes) : pick(SHAPES);
    if (chance(wildness / 2)) made.dtype = pick(DTYPES);
    if (chance(wildness + 0.1)) made.fill = pick(FILLS);
    if (chance(wildness / 2 + 0.05)) made.form = pick(FORMS);
    return made;
  }

  function list(values) {
    const changed = values.map(value);
    if (chance(wildness / 4)) changed.pop();
    if (chance(wildness / 4) && changed.length > 0) changed.push(changed[0]);
    return changed;
  }

  function value(given) {
    if (isTensor(given)) return tensor(given);
    if (Array.isArray(given)) return list(given);
    if (!chance(wildness)) return given;
    if (chance(0.05)) return { wrong: pick(WRONG) };
    if (typeof given === 'boolean') return !given;
    if (Number.isInteger(given)) return chance(0.5) ? given + pick([-1, 1]) : pick(INTEGERS);
    if (typeof given === 'number') return pick(FLOATS);
    if (typeof given === 'string') return DTYPES.includes(given) ? pick(DTYPES) : pick(STRINGS);
    return given;
  }

  const plan = { target: target.name, args: args.map(value) };
  const named = Object.entries(options).map(([name, one]) => [camel(name), value(one)]);
  if (outs.length > 0 && chance(0.15)) {
    for (const name of pick(outs)) {
      const isSame = chance(0.4) && tensors > 0;
      const dtype = guesses.isInteger.test(name) ? 'int64' : base;
      const made = { tensor: pick([[0], [0], pick(SHAPES)]), dtype };
      named.push([name, isSame ? { same: below(tensors) } : tensor(made)]);
    }
  }
  if (named.length > 0) plan.options = Object.fromEntries(named);
  if (chance(0.3)) plan.after = 'backward';
  if (target.async && chance(0.1)) plan.through = 'async';
  else if (chance(0.05)) plan.through = 'run';
  return plan;
}

module.exports = { camel, isTensor, samplePlan, samplesFor, targetNames };
