/** Makes the values of a plan (plan.cjs): tensors of every form, and values of every wrong type. */
'use strict';

const { damagedBytes } = require('./damage.cjs');

const WRONG = {
  object: () => ({ toString: undefined }),
  function: () => () => 1,
  symbol: () => Symbol('x'),
  date: () => new Date(0),
  array: () => [[[]], {}],
  class: () => class {},
  promise: () => Promise.resolve(1),
  typed: () => new Float64Array(3),
  buffer: () => new ArrayBuffer(8),
  null: () => null,
  undefined: () => undefined,
};

const isFloating = (dtype) => /^(float|bfloat|complex)/.test(dtype);
const EXTREME = { int8: 127, int16: 32767, int32: 2 ** 31 - 1, uint8: 255, bool: 1, int64: 9223372036854775807n };
const largest = (dtype) => (dtype === 'float16' ? 65504 : 1e30);

/** `good(format)`: the bytes of a good file, which a plan's edits damage. */
function makerOf(torch, good) {
  const { aten } = torch.ops;

  /** The elements: a strided tensor of its own. */
  function plain({ tensor: shape, dtype, fill = 'usual' }) {
    const floating = isFloating(dtype);
    const full = (value) => torch.full(shape, value, { dtype });
    switch (fill) {
      case 'zeros':
        return full(0);
      case 'ramp':
        return torch
          .arange(shape.reduce((product, size) => product * size, 1))
          .to(dtype)
          .view(shape);
      case 'negative':
        return dtype === 'bool' || dtype === 'uint8' ? full(1) : full(-1);
      case 'nan':
        return floating ? full(Number.NaN) : full(1);
      case 'infinite':
        return floating ? full(Number.POSITIVE_INFINITY) : full(5);
      case 'huge':
        return full(floating ? largest(dtype) : EXTREME[dtype]);
      case 'minimum':
        if (floating) return full(-largest(dtype));
        return full(dtype.startsWith('int') ? -EXTREME[dtype] - (dtype === 'int64' ? 1n : 1) : 0);
      default: {
        if (!floating) return dtype === 'bool' ? full(1) : full(0);
        const made = full(0.5);
        // A matrix is symmetric and positive, for linear algebra.
        return shape.length === 2 && shape[0] === shape[1] ? made.add(torch.eye(shape[0]).to(dtype)) : made;
      }
    }
  }

  const forms = {
    expanded: (x) =>
      x.numel === 0
        ? x
        : x
            .reshape([-1])
            .narrow(0, 0, 1)
            .expand([...x.shape]),
    overlapping: (x) =>
      x.asStrided(
        x.shape,
        x.shape.map(() => 1),
      ),
    'channels-last': (x) => x.contiguous({ memoryFormat: x.ndim === 5 ? 'channels_last_3d' : 'channels_last' }),
    transposed: (x) =>
      x
        .permute(x.shape.map((_, i) => x.ndim - 1 - i))
        .contiguous()
        .permute(x.shape.map((_, i) => x.ndim - 1 - i)),
    stepped: (x) => torch.stack([x, x], x.ndim).select(x.ndim, 0),
    offset: (x) => torch.stack([x, x], 0).select(0, 1),
    conjugate: (x) => x.to('complex64').conj(),
    negated: (x) => aten._neg_view.default(x),
    zero: (x) => aten._efficientzerotensor.default([...x.shape], { dtype: x.dtype }),
    sparse: (x) => x.toSparse(),
    csr: (x) => x.toSparseCsr(),
    hybrid: (x) => x.toSparse(1),
    quantized: (x) => torch.quantizePerTensor(x.to('float32'), 0.1, 0, 'quint8'),
    'per-channel': (x) =>
      torch.quantizePerChannel(
        x.to('float32'),
        torch.full([x.shape[0]], 0.1),
        torch.zeros([x.shape[0]], { dtype: 'int64' }),
        0,
        'qint8',
      ),
    mkldnn: (x) => x.toMkldnn(),
    nested: (x) => aten._nested_tensor_from_tensor_list.default([x, x]),
    leaf: (x) => x.requiresGrad_(),
    graph: (x) => x.requiresGrad_().mul(1),
    inference: (x) => torch.inferenceMode(() => x.add(0)),
    meta: (x) => x.to('meta'),
    named: (x) => x.rename(...x.shape.map((_, i) => 'ABCDEFGH'[i])),
    disposed: (x) => x,
  };

  function tensor(spec) {
    const made = torch.scope(() => {
      const x = plain(spec);
      if (spec.form === undefined) return x;
      try {
        return forms[spec.form](x);
      } catch {
        return x; // this dtype or shape does not have the form
      }
    });
    if (spec.form === 'disposed') made.dispose();
    return made;
  }

  /** The values of a plan's call, and what was made for them. */
  function valuesOf(plan) {
    const tensors = [];
    const others = [];
    function value(spec) {
      if (Array.isArray(spec)) return spec.map(value);
      if (typeof spec !== 'object' || spec === null) return spec;
      if (spec.tensor !== undefined) {
        tensors.push(tensor(spec));
        return tensors.at(-1);
      }
      if (spec.same !== undefined) return tensors[spec.same % Math.max(tensors.length, 1)];
      if (spec.damaged !== undefined) return damagedBytes(good(spec.damaged), spec);
      if (spec.big !== undefined) return BigInt(spec.big);
      if (spec.number !== undefined) return Number(spec.number);
      if (spec.re !== undefined) return new torch.Complex(value(spec.re), value(spec.im));
      if (spec.wrong !== undefined) return WRONG[spec.wrong]();
      if (spec.make === 'stream') return new torch.Stream('cpu', 0);
      if (spec.make === 'generator') {
        others.push(new torch.Generator());
        return others.at(-1);
      }
      tensors.push(torch.scope(() => torch.ones([64]).storage()));
      return tensors.at(-1);
    }
    const args = plan.args.map(value);
    const options = Object.entries(plan.options ?? {}).map(([name, spec]) => [name, value(spec)]);
    if (options.length > 0) args.push(Object.fromEntries(options));
    return { args, tensors, others };
  }

  return { valuesOf };
}

module.exports = { makerOf };
