/**
 * Calls of PyTorch's samples with one tensor expanded along a dimension: its numbers are there once, before those of another. Prints a
 * JSON line for each function whose result is not that of a copy with a number for each element: its kernel read the others.
 */
'use strict';

const [lib] = process.argv.slice(2);
const torch = require(lib);
const samples = require('../fuzz/samples.json');
const { camel, targetNames } = require('../fuzz/samples.cjs');
const { byName, targetsOf } = require('../fuzz/targets.cjs');

const LEFT_OUT = {
  'random numbers':
    /dropout|rrelu|rand|normal|bernoulli|multinomial|empty|uniform|exponential|cauchy|geometric|Lowrank|gumbel|fractional/i,
  'depends on strides, as in PyTorch': /\.(asStrided|resize_|view|viewAs|viewAsComplex|takeAlongDim)$/,
  'writes into its running statistics': /instanceNorm$/,
  'rows that are the same make a matrix singular': /linalg\.(inv|solve|slogdet|det)|logdet/,
};
const isLeftOut = (name) => Object.values(LEFT_OUT).some((pattern) => pattern.test(name));
const DTYPES = ['float32', 'bfloat16', 'int64'];
const isTensor = (value) => typeof value === 'object' && value !== null && Array.isArray(value.tensor);

/** Numbers from 0 to 1 that differ; integers are 0 or 1. */
function numbers(shape, dtype) {
  const count = shape.reduce((product, size) => product * size, 1);
  const different = torch.arange(count, { dtype: 'float64' }).mul(0.37).add(0.1).remainder(0.9).view(shape);
  if (dtype === 'bool') return different.gt(0.4);
  return dtype === 'int64' ? different.mul(1.2).floor().to(dtype) : different.to(dtype);
}

/** The values of a call. Its tensor number `at` is expanded along `dim`, or a copy of that. */
function valuesOf(call, dtype, at, dim, isExpanded) {
  let next = 0;
  const made = (value) => {
    if (Array.isArray(value)) return value.map(made);
    if (value?.number !== undefined) return Number(value.number);
    if (value?.re !== undefined) return new torch.Complex(value.re, value.im);
    if (!isTensor(value)) return value;
    const own = value.dtype ?? dtype;
    if (next++ !== at) return own === 'int64' ? torch.zeros(value.tensor, { dtype: own }) : numbers(value.tensor, own);
    const base = numbers(
      value.tensor.map((size, i) => (i === dim ? 2 : size)),
      own,
    );
    const expanded = base.narrow(dim, 0, 1).expand(value.tensor);
    return isExpanded ? expanded : expanded.contiguous();
  };
  const args = call[0].map(made);
  const options = Object.entries(call[1]).map(([name, value]) => [camel(name), made(value)]);
  return options.length > 0 ? [...args, Object.fromEntries(options)] : args;
}

const tensorsOf = (result) =>
  result instanceof torch.Tensor ? [result] : Array.isArray(result) ? result.flatMap(tensorsOf) : [];

/** Sizes and numbers of the results, or the message of the error. */
function resultOf(target, ...call) {
  return torch.scope(() => {
    const values = valuesOf(...call);
    try {
      const result = target.method ? values[0][target.name.split('.')[1]](...values.slice(1)) : target.fn(...values);
      return tensorsOf(result).map((one) => {
        const dense = one.layout === 'strided' ? one : one.toDense();
        const wide = dense.to(one.dtype.startsWith('complex') ? 'complex128' : 'float64');
        return { shape: one.shape, numbers: [...wide.toTypedArray()] };
      });
    } catch {
      return 'error'; // of both, if the values do not fit
    }
  });
}

/** The rounding of a dtype, absolute and relative: a kernel may take another path for a tensor with gaps. */
const ROUNDING = { float32: [1e-4, 1e-3], bfloat16: [1e-2, 3e-2], int64: [1e-4, 1e-3] };
const isNear = (a, b, [absolute, relative]) => Object.is(a, b) || Math.abs(a - b) <= absolute + relative * Math.abs(b);
const areSame = (a, b, rounding) =>
  a === b ||
  (a !== 'error' &&
    b !== 'error' &&
    a.length === b.length &&
    a.every(
      ({ shape, numbers }, i) =>
        shape.join() === b[i].shape.join() && numbers.every((one, j) => isNear(one, b[i].numbers[j], rounding)),
    ));

const targets = byName(targetsOf(lib));
let checks = 0;
for (const [name, calls] of Object.entries(samples)) {
  const target = targets.get(targetNames(name).find((full) => targets.has(full)));
  if (target === undefined || isLeftOut(target.name)) continue;
  const wrong = new Set();
  for (const [i, call] of calls.entries()) {
    const shapes = JSON.stringify(call).match(/"tensor":\[[\d,]*\]/g) ?? [];
    for (const [at, text] of shapes.entries()) {
      const shape = JSON.parse(`{${text}}`).tensor;
      const dim = shape.findIndex((size) => size > 1);
      if (dim < 0 || shape.includes(0)) continue;
      const dtype = DTYPES[i % DTYPES.length];
      const [expanded, copy] = [true, false].map((is) => resultOf(target, call, dtype, at, dim, is));
      checks++;
      if (!areSame(expanded, copy, ROUNDING[dtype])) wrong.add(`${dtype} ${JSON.stringify(call)}: tensor ${at}`);
    }
  }
  if (wrong.size > 0) console.log(JSON.stringify({ name: target.name, wrong: [...wrong] }));
}
console.log(JSON.stringify({ checks, tensors: torch.memory().tensors }));
