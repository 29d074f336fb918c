/**
 * Valid-looking arguments for any signature, by type and name. Plain Node, because Jest and child processes use it.
 * Each variant is another guess, so that most ops run for real in one of them.
 */
'use strict';

const path = require('node:path');
const os = require('node:os');

/** Guesses at what the tensors of a call are: shape and dtype. */
const variants = [
  { shape: [2, 2], dtype: 'float32' },
  { shape: [1, 4, 4, 4], dtype: 'float32' },
  { shape: [4], dtype: 'float32' },
  { shape: [2, 2], dtype: 'int64' },
  { shape: [2, 4, 4, 4, 4], dtype: 'float64' },
  { shape: [2, 2, 2], dtype: 'float32' },
  { shape: [], dtype: 'float32' },
  { shape: [2, 2], dtype: 'complex64' },
  { shape: [3, 3], dtype: 'bool' },
  { shape: [2, 2], dtype: 'float32', names: ['A', 'B'] },
  { shape: [2, 2], dtype: 'float32', sparse: true },
  { shape: [4, 4], dtype: 'float32', quantized: true },
];

const strings = {
  UPLO: 'L',
  approximate: 'none',
  equation: 'ij,jk->ik',
  indexing: 'ij',
  interpolation: 'linear',
  mode: 'reduced',
  norm: 'backward',
  ord: 'fro',
  pad_mode: 'constant',
  padding: 'valid',
  reduce: 'sum',
  rounding_mode: 'floor',
  side: 'left',
};

const integers = {
  dim1: 1,
  dim2: 1,
  dim: 0,
  dim0: 0,
  axis: 0,
  axis0: 0,
  axis1: 1,
  blank: 0,
  diagonal: 0,
  decimals: 0,
  end: 2,
  high: 5,
  ignore_index: -100,
  index: 0,
  interpolation_mode: 0,
  level: 1,
  low: 0,
  mode: 0,
  normalization: 0,
  offset: 0,
  padding_idx: 0,
  padding_mode: 0,
  p: 2,
  proj_size: 0,
  quant_max: 127,
  quant_min: -128,
  reduction: 1,
  start: 0,
  storage_offset: 0,
  to: 5,
  zero_point: 0,
};

const isInteger =
  /^(ind(ex|ices)|target|targets|offsets|pivots|counts|infos|info|LU_pivots|repeats|bag_size|offset2bag)$/;
const isBoolean = /^(mask|condition)$/;

/** Makes arguments for one module instance (`lib` is the folder of the built library). */
function argumentMaker(lib) {
  const torch = require(path.join(lib, 'index.js'));
  const { memoryFormats } = require(path.join(lib, 'addon/enums.js'));

  function tensor(param, variant) {
    const { shape, names, sparse, quantized } = variant;
    let { dtype } = variant;
    if (param.out) return torch.empty([0], { dtype: isInteger.test(param.name) ? 'int64' : dtype });
    if (isInteger.test(param.name)) dtype = 'int64';
    if (isBoolean.test(param.name)) dtype = 'bool';
    if (dtype === 'int64' || dtype === 'bool') return torch.zeros(shape, { dtype });
    return torch.scope(() => {
      // If it is a matrix: a symmetric, positive one, for linear algebra.
      let made = torch.full(shape, 0.5, { dtype });
      if (shape.length === 2 && shape[0] === shape[1]) made = made.add(torch.eye(shape[0], { dtype }));
      // In versions of libtorch without named dimensions, that variant repeats the first one.
      if (names !== undefined && torch.Tensor.prototype.refineNames) made = made.refineNames(names);
      else if (sparse) made = made.toSparse();
      else if (quantized) made = torch.quantizePerTensor(made, 0.1, 0, 'quint8');
      return made;
    });
  }

  function integerList(param, variant) {
    const { name, type } = param;
    const fill = (value) => new Array(Math.max(type.size, 1)).fill(value);
    if (/^(size|shape|sizes|input_size|input_sizes|self_sizes|normalized_shape)$/.test(name)) return [...variant.shape];
    if (/pad/.test(name)) return fill(0);
    if (/^(dims?|dims_self|dims_other)$/.test(name)) return type.size === 2 ? [0, 1] : fill(0);
    if (name === 'stride' && type.size === 0) return variant.shape.map(() => 1);
    if (name === 'repeats') return variant.shape.map(() => 2);
    return fill(1);
  }

  function element(param, variant) {
    const { name } = param;
    switch (param.type.base) {
      case 'T':
      case 'W':
        return tensor(param, variant);
      case 'S':
        return variant.dtype === 'complex64' ? new torch.Complex(1, 0.5) : 1;
      case 'I':
        return integers[name] ?? 1;
      case 'F':
        return 0.5;
      case 'O':
        return 0;
      case 'B':
      case 'Z':
        return false;
      case 's':
        return name === 'filename' ? path.join(os.tmpdir(), 'libtorch-node-no-such-file') : (strings[name] ?? 'sum');
      case 'D':
        return variant.dtype;
      case 'L':
        return 'strided';
      case 'M':
        return memoryFormats[0];
      case 'V':
        return 'cpu';
      case 'G':
        return new torch.Generator();
      case 'R':
        return torch.scope(() => torch.ones([64]).storage());
      case 'X':
        return new torch.Stream('cpu', 0);
      case 'N':
        return 'A';
      default:
        throw new Error(`no argument is known for type ${param.type.base}`);
    }
  }

  /** One value for a parameter. */
  function value(param, variant) {
    const { type } = param;
    if (!type.list) return element(param, variant);
    switch (type.base) {
      case 'T':
        return param.out ? [element(param, variant)] : [element(param, variant), element(param, variant)];
      case 'I':
        return integerList(param, variant);
      case 'B':
        return new Array(type.size).fill(true);
      case 'N':
        return param.name === 'names' ? variant.shape.map((_, i) => 'ABCDE'[i]) : ['A'];
      default:
        return new Array(Math.max(type.size, 1)).fill(element(param, variant));
    }
  }

  /** All arguments of a signature in schema order; with `sparingly`, optional ones are left undefined. */
  const values = (signature, variant, sparingly = false) =>
    signature.params.map((param) => (sparingly && param.optional ? undefined : value(param, variant)));

  /** The values as `torch.ops` takes them: keyword-only ones by name in a trailing object. */
  function rawCall(signature, list) {
    const positional = [];
    const options = {};
    signature.params.forEach((param, i) => {
      if (!param.keywordOnly && !param.out) positional.push(list[i]);
      else if (list[i] !== undefined) options[param.name] = list[i];
    });
    return Object.keys(options).length > 0 ? [...positional, options] : positional;
  }

  /** Releases tensors and generators in the values. */
  function release(list) {
    torch.disposeAll(list);
    for (const item of list) if (item instanceof torch.Generator) item.dispose();
  }

  return { torch, value, values, rawCall, release };
}

module.exports = { argumentMaker, variants, guesses: { strings, integers, isInteger, isBoolean } };
