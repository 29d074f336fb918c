/**
 * Plans of calls, as plain data: what is called, and with which values. A plan is made from a seed and an index, without
 * libtorch, so that it can be printed, stored, shrunk and made again in another process. test/fuzz/values.cjs makes the values.
 *
 * A value is a JSON value that stands for itself, or one of
 *   {tensor: shape, dtype, fill, form}   {same: n}: the nth tensor of the call once more
 *   {damaged: format, edits, entry}: the bytes of a damaged file (damage.cjs)
 *   {big: digits}   {number: 'NaN'}   {re, im}   {make: 'generator' | 'storage' | …}   {wrong: kind}
 */
'use strict';

const { guesses } = require('../support/arguments.cjs');
const { SEALED, editsOf } = require('./damage.cjs');
const { randomOf } = require('./random.cjs');
const { samplePlan } = require('./samples.cjs');
const { sweepPlans } = require('./sweeps.cjs');

const SHAPES = [
  ...[[], [0], [1], [2], [4], [7], [65], [0, 3], [2, 2], [3, 5], [1, 1], [4, 4], [2, 0, 2], [2, 3, 4], [2, 2, 2]],
  ...[
    [1, 4, 4, 4],
    [2, 3, 8, 8],
    [1, 2, 0, 4],
    [2, 4, 4, 4, 4],
    [1, 1, 1, 1, 1, 1],
    [2, 1, 2, 1, 2, 1, 2],
    [300, 40],
  ],
];
const DTYPES = [
  ...['float32', 'float32', 'float32', 'float32', 'float64', 'int64', 'int64', 'int32', 'int16', 'int8', 'uint8'],
  ...['bool', 'float16', 'bfloat16', 'complex64', 'complex128'],
];
const FILLS = ['usual', 'usual', 'usual', 'zeros', 'ramp', 'negative', 'nan', 'infinite', 'huge', 'minimum'];
const FORMS = [
  ...['expanded', 'overlapping', 'channels-last', 'transposed', 'stepped', 'offset', 'conjugate', 'negated', 'zero'],
  ...[
    'sparse',
    'csr',
    'hybrid',
    'quantized',
    'per-channel',
    'mkldnn',
    'nested',
    'leaf',
    'graph',
    'inference',
    'disposed',
  ],
  ...['meta', 'named'],
];
const LARGE = [2 ** 20, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 40, 2 ** 53 - 1];
const INTEGERS = [
  ...[0, 0, 0, -1, -1, 1, 2, 3, 4, 5, -2, -3, 7, 17, 64, -100, ...LARGE, -(2 ** 31), -(2 ** 40)],
  ...[{ big: '9223372036854775807' }, { big: '-9223372036854775808' }, { big: '9223372036854775806' }],
];
const FLOATS = [
  ...[0, 1, -1, 0.5, -0.5, 2, 1e-45, 1e30, -1e308, { number: 'NaN' }, { number: 'Infinity' }, { number: '-Infinity' }],
  ...[{ number: '-0' }, 2 ** 63, -(2 ** 63)],
];
const STRINGS = [
  ...['', 'sum', 'mean', 'none', 'no such mode', '\u0000', 'ij,jk->ik', '...', '->', 'i->ii', 'é🙂', 'a'.repeat(300)],
  ...[
    'max',
    'min',
    'L',
    'U',
    'fro',
    'nuc',
    'reflect',
    'circular',
    'same',
    'valid',
    'linear',
    'lower',
    'tanh',
    'ij',
    'xy',
  ],
];
const WRONG = [
  'object',
  'function',
  'symbol',
  'date',
  'array',
  'class',
  'promise',
  'typed',
  'buffer',
  'null',
  'undefined',
];

const LISTS = { DTYPES, FILLS, FLOATS, FORMS, INTEGERS, SHAPES, STRINGS, WRONG };

/** The part of the calls that get a damaged file, if some of the targets take one. */
const FILES = 0.04;
/** The part of the calls that are made from a sample. */
const SAMPLES = 0.2;
/** Mixed with the seed, so that choices among files and samples change nothing of the other calls. */
const OF_FILES = 0x46494c45;
const OF_SAMPLES = 0x53414d50;

/** A call with a damaged file. */
function filePlan(random, targets) {
  const { below, chance, pick } = random;
  const { name, format } = pick(targets);
  const edits = editsOf(random);
  const entry = SEALED.includes(format) && chance(0.7) ? { entry: below(64) } : {};
  return { target: name, args: [{ damaged: format, edits, ...entry }] };
}

/** By a list of targets: those that take a damaged file, and the others. */
const parts = new WeakMap();
function partsOf(all) {
  if (!parts.has(all)) {
    const isOfFiles = ({ format }) => format !== undefined;
    parts.set(all, { files: all.filter(isOfFiles), targets: all.filter((one) => !isOfFiles(one)) });
  }
  return parts.get(all);
}

/** A seed's plan of call `index`; `all` are the targets of targets.cjs. */
function planOf(seed, index, all) {
  const { targets, files } = partsOf(all);
  const ofFiles = randomOf(seed ^ OF_FILES, index);
  if (files.length > 0 && (targets.length === 0 || ofFiles.chance(FILES))) return filePlan(ofFiles, files);
  const ofSamples = randomOf(seed ^ OF_SAMPLES, index);
  if (ofSamples.chance(SAMPLES)) {
    const plan = samplePlan(ofSamples, targets, LISTS);
    if (plan !== undefined) return plan;
  }
  const random = randomOf(seed, index);
  const { below, chance, pick } = random;
  const target = pick(targets);
  const base = { shape: pick(SHAPES), dtype: pick(DTYPES) };
  // A call whose values are mostly what the op expects reaches its kernel; one whose values are not meets its checks.
  const wildness = pick([0.03, 0.1, 0.1, 0.3, 0.8]);
  let tensors = 0;

  function tensor(param) {
    if (tensors > 0 && chance(param.out ? 0.15 : 0.04)) return { same: below(tensors) };
    tensors++;
    const wild = chance(wildness);
    let { dtype } = base;
    if (guesses.isInteger.test(param.name)) dtype = 'int64';
    if (guesses.isBoolean.test(param.name)) dtype = 'bool';
    if (wild && chance(0.5)) dtype = pick(DTYPES);
    const made = { tensor: wild && chance(0.6) ? pick(SHAPES) : base.shape, dtype };
    if (param.out && chance(0.7)) made.tensor = [0];
    if (chance(wildness + 0.1)) made.fill = pick(FILLS);
    if (chance(wildness / 2 + 0.05)) made.form = pick(FORMS);
    return made;
  }

  function integer(name) {
    if (!chance(wildness)) return guesses.integers[name] ?? 1;
    return pick(INTEGERS);
  }

  function integers({ name, type }) {
    if (chance(wildness / 2)) return Array.from({ length: below(5) }, () => pick(INTEGERS));
    if (/^(size|shape|sizes|input_size|input_sizes|self_sizes|normalized_shape)$/.test(name)) {
      return base.shape.map((size) => (chance(wildness) ? pick(INTEGERS) : size));
    }
    const usual = /pad|offset/.test(name) ? 0 : 1;
    const length = type.size > 0 && !chance(wildness / 4) ? type.size : chance(0.6) ? base.shape.length : below(4);
    if (/^(dims?|dims_self|dims_other)$/.test(name) && !chance(wildness)) return length < 2 ? [0] : [0, 1];
    return Array.from({ length }, () => (chance(wildness) ? pick(INTEGERS) : usual));
  }

  function element(param) {
    if (chance(wildness / 12)) return { wrong: pick(WRONG) };
    switch (param.type.base) {
      case 'T':
      case 'W':
        return tensor(param);
      case 'S':
        if (base.dtype.startsWith('complex') && chance(0.5)) return { re: pick(FLOATS), im: 0.5 };
        return chance(wildness) ? pick([...FLOATS, ...INTEGERS, true, { re: 0, im: -1 }]) : 1;
      case 'I':
        return integer(param.name);
      case 'F':
        return chance(wildness) ? pick(FLOATS) : 0.5;
      case 'O':
        return chance(wildness) ? pick(INTEGERS) : 0;
      case 'B':
      case 'Z':
        return chance(0.5);
      case 's':
        return chance(wildness) ? pick(STRINGS) : (guesses.strings[param.name] ?? 'sum');
      case 'D':
        return chance(wildness)
          ? pick([...DTYPES, 'quint8', 'qint8', 'qint32', 'complex32', 'quint4x2', 'x'])
          : base.dtype;
      case 'L':
        return chance(wildness) ? pick(['sparse_coo', 'sparse_csr', 'mkldnn', 'sparse_bsr', 'x']) : 'strided';
      case 'M':
        return pick(['contiguous_format', 'preserve_format', 'channels_last', 'channels_last_3d', 'x']);
      case 'V':
        return chance(wildness) ? pick(['meta', 'cuda', 'cpu:1', 'mps', 'x', '']) : 'cpu';
      case 'G':
        return { make: 'generator' };
      case 'R':
        return { make: 'storage' };
      case 'X':
        return { make: 'stream' };
      case 'N':
        return pick(['A', 'B', '*', '']);
      default:
        return anything(param);
    }
  }

  /** A value for a parameter of which nothing is known. */
  function anything(param) {
    const kind = below(8);
    if (kind < 3) return tensor(param);
    if (kind === 3) return pick(INTEGERS);
    if (kind === 4) return pick(FLOATS);
    if (kind === 5) return pick([...STRINGS, ...DTYPES]);
    if (kind === 6) return Array.from({ length: below(4) }, () => (chance(0.5) ? pick(INTEGERS) : tensor(param)));
    return { wrong: pick(WRONG) };
  }

  function value(param) {
    const { type } = param;
    if (!type.list || chance(wildness / 12)) return element(param);
    if (type.base === 'I' || type.base === 'O') return integers(param);
    const usual = type.size > 0 ? type.size : type.base === 'T' ? (param.out ? 1 : 2) : 1;
    const length = chance(wildness / 2) ? below(6) : usual;
    return Array.from({ length }, () => (type.elementNullable && chance(0.3) ? null : element(param)));
  }

  const plan = { target: target.name, args: [] };
  const options = {};
  if (target.params === undefined) {
    for (let count = below(5); count > 0; count--) plan.args.push(anything({ name: 'value' }));
  } else {
    let named = false;
    for (const param of target.params) {
      if (param.optional && chance(0.5)) {
        named = true; // its default; what follows goes by name
        continue;
      }
      if (named || param.keywordOnly || param.out) options[target.raw ? param.name : param.jsName] = value(param);
      else plan.args.push(value(param));
    }
    if (Object.keys(options).length > 0) plan.options = options;
  }
  if (chance(0.2)) plan.after = 'backward';
  if (target.async && chance(0.25)) plan.through = 'async';
  else if (target.params !== undefined && chance(0.08)) plan.through = 'run';
  return plan;
}

/** The plans of a sweep (sweeps.cjs). */
const plansOfSweep = (name, all) => sweepPlans(name, partsOf(all).targets, LISTS);

module.exports = { planOf, plansOfSweep };
