/** Sizes and strides as in PyTorch, with which the model distinguishes views from copies. */
'use strict';

const itemSizes = {
  float32: 4,
  float64: 8,
  float16: 2,
  bfloat16: 2,
  uint8: 1,
  int8: 1,
  int16: 2,
  int32: 4,
  int64: 8,
  bool: 1,
  complex64: 8,
  complex128: 16,
};
const dtypes = Object.keys(itemSizes);

const numelOf = (shape) => shape.reduce((product, size) => product * size, 1);

function contiguousStrides(shape) {
  const strides = new Array(shape.length);
  let step = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    strides[i] = step;
    step *= Math.max(shape[i], 1);
  }
  return strides;
}

/** Whether elements lie in row-major order without gaps; dimensions of size 1 may have any stride. */
function isContiguous(shape, strides) {
  if (numelOf(shape) === 0) return true;
  let step = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    if (shape[i] === 1) continue;
    if (strides[i] !== step) return false;
    step *= shape[i];
  }
  return true;
}

/**
 * The strides with which `shape` with `strides` can be viewed as `wanted` (of the same size), or null if that needs a copy:
 * each group of dimensions that is contiguous in memory may be split differently.
 */
function viewStrides(shape, strides, wanted) {
  if (numelOf(shape) === 0) return same(shape, wanted) ? [...strides] : contiguousStrides(wanted);
  const result = new Array(wanted.length);
  let w = wanted.length - 1;
  let step = shape.length === 0 ? 1 : strides[shape.length - 1];
  let run = 1;
  let covered = 1;
  for (let d = shape.length - 1; d >= 0; d--) {
    run *= shape[d];
    if (d === 0 || (shape[d - 1] !== 1 && strides[d - 1] !== run * step)) {
      while (w >= 0 && (covered < run || wanted[w] === 1)) {
        result[w] = covered * step;
        covered *= wanted[w];
        w--;
      }
      if (covered !== run) return null;
      if (d > 0) {
        step = strides[d - 1];
        run = 1;
        covered = 1;
      }
    }
  }
  if (shape.length === 0) for (; w >= 0; w--) result[w] = 1;
  return w < 0 ? result : null;
}

const same = (a, b) => a.length === b.length && a.every((size, i) => size === b[i]);

/** Whether two elements may share memory: no (false), yes (true), unknown (null). */
function overlaps(shape, strides) {
  if (strides.some((stride, i) => stride === 0 && shape[i] > 1)) return true;
  const dims = shape.map((size, i) => [strides[i], size]).filter(([, size]) => size !== 1);
  dims.sort((a, b) => a[0] - b[0]);
  let reach = 1;
  for (const [stride, size] of dims) {
    if (stride < reach) return null;
    reach = stride * (size - 1) + reach;
  }
  return false;
}

module.exports = { itemSizes, dtypes, numelOf, contiguousStrides, isContiguous, viewStrides, same, overlaps };
