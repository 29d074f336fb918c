/** torch/functional.py: functions whose arguments differ from those of their ops. */
import type { Scalar } from '../../types/base';
import { isScalar } from '../call/convert';
import { define } from '../call/define';
import { Complex, isComplex } from '../errors/values';
import { isTensor, type Tensor } from '../tensor/tensor';
import { aten, direct, linalg } from './ops';
import { refuse, withOut } from './support';

const einsum = direct('einsum');
const sizeOf = (value: unknown): unknown => (isTensor(value) ? value.item() : value);
const isSize = (value: unknown) => Number.isInteger(value) || typeof value === 'bigint';

define([''], {
  atleast1d: (tensors: Tensor[]) => aten.atleast1d!(tensors),
  atleast2d: (tensors: Tensor[]) => aten.atleast2d!(tensors),
  atleast3d: (tensors: Tensor[]) => aten.atleast3d!(tensors),
  blockDiag: (tensors: Tensor[]) => aten.blockDiag!(tensors),
  broadcastTensors: (tensors: Tensor[]) => aten.broadcastTensors!(tensors),
  cartesianProd: (tensors: Tensor[]) => aten.cartesianProd!(tensors),
  chainMatmul: (matrices: Tensor[], out: Tensor | null) =>
    withOut(out, (...options) => aten.chainMatmul!(matrices, ...options)),
  meshgrid: (tensors: Tensor[], indexing: string | null) =>
    indexing === null ? aten.meshgrid!(tensors) : aten.meshgrid!(tensors, { indexing }),
  einsum: [(equation: string, operands: Tensor[]) => einsum(equation, operands), einsumOfLists],
  cdist: (x1: Tensor, x2: Tensor, p: number, computeMode: string) => {
    const mode = computeModes.get(computeMode);
    if (mode === undefined) throw refuse('cdist', 'computeMode', `one of ${names(computeModes)}`, computeMode);
    return aten.cdist!(x1, x2, p, mode);
  },
  split: (tensor: Tensor, sizeOrSections: unknown, dim: number) => {
    const sizes = Array.isArray(sizeOrSections) ? sizeOrSections.map(sizeOf) : sizeOf(sizeOrSections);
    // The op would refuse it, and the call would come back to this function.
    if (!(Array.isArray(sizes) ? sizes.every(isSize) : isSize(sizes)))
      throw refuse('split', 'splitSizeOrSections', 'an integer, a list of them or a tensor with one', sizes);
    return aten.split!(tensor, sizes, dim);
  },
  tensordot: (a: Tensor, b: Tensor, dims: unknown, out: Tensor | null) => {
    const [ofA, ofB] = contracted(dims);
    return withOut(out, (...options) => aten.tensordot!(a, b, ofA, ofB, ...options));
  },
  complex: (real: Scalar, imag: Scalar) => {
    for (const [name, part] of Object.entries({ real, imag })) {
      if (isComplex(part) || typeof part === 'boolean') throw refuse('complex', name, 'a real number', part);
    }
    return new Complex(Number(real), Number(imag));
  },
});

define(['', 'Tensor'], {
  norm,
  nonzero: (input: Tensor, asTuple: boolean) => (asTuple ? aten.nonzeroNumpy!(input) : aten.nonzero!(input)),
});

const computeModes = new Map<string, number | null>([
  ['use_mm_for_euclid_dist_if_necessary', null],
  ['use_mm_for_euclid_dist', 1],
  ['donot_use_mm_for_euclid_dist', 2],
]);
const names = (map: ReadonlyMap<string, unknown>) => [...map.keys()].map((name) => `'${name}'`).join(', ');

/** `einsum(a, [0, 1], b, [1, 2], [0, 2])`: each operand with its subscripts, then those of the result. */
function einsumOfLists(args: unknown[]): Tensor {
  const operands: Tensor[] = [];
  const terms: string[] = [];
  let result = '';
  if (args.length < 2)
    throw refuse('einsum', 'operands', 'an equation, or Tensors each with a list of subscripts', args);
  for (let i = 0; i < args.length; i += 2) {
    const operand = args[i];
    if (i === args.length - 1 && i > 0) {
      result = `->${subscripts(operand)}`;
      break;
    }
    if (!isTensor(operand)) {
      throw refuse('einsum', 'operands', 'an equation and Tensors, or Tensors each with a list of subscripts', operand);
    }
    operands.push(operand);
    terms.push(subscripts(args[i + 1]));
  }
  return einsum(terms.join(',') + result, operands);
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

function subscripts(list: unknown): string {
  if (!Array.isArray(list)) throw refuse('einsum', 'operands', 'a list of subscripts after each Tensor', list);
  return list
    .map((subscript: unknown) => {
      const letter = subscript === '...' ? '...' : LETTERS[subscript as number];
      if (letter === undefined) throw refuse('einsum', 'operands', "subscripts from 0 to 51, or '...'", subscript);
      return letter;
    })
    .join('');
}

/** A tensor of libtorch has no more dimensions. */
const MAX_DIMENSIONS = 64;

/** The dimensions that tensordot sums over: the last n of the first tensor and the first n of the other, or two lists. */
function contracted(dims: unknown): [number[], number[]] {
  let wanted = dims;
  if (isTensor(dims)) wanted = dims.numel > 1 ? dims.toArray() : dims.item();
  if (Array.isArray(wanted) && wanted.length === 2 && wanted.every((list) => Array.isArray(list))) {
    return wanted as [number[], number[]];
  }
  const count = typeof wanted === 'symbol' || typeof wanted === 'object' ? Number.NaN : Number(wanted);
  if (!Number.isInteger(count) || count < 0 || count > MAX_DIMENSIONS) {
    throw refuse('tensordot', 'dims', `0 to ${MAX_DIMENSIONS} dimensions, or two lists of dimensions`, dims);
  }
  return [Array.from({ length: count }, (_, i) => i - count), Array.from({ length: count }, (_, i) => i)];
}

/** torch.norm: 'fro', 'nuc' and the vector norms over some dimensions or all. */
function norm(
  input: Tensor,
  p: unknown,
  dim: number[] | null,
  keepdim: boolean,
  out: Tensor | null,
  dtype: string | null,
): Tensor {
  // The op takes the number of a zero-dimensional tensor; the tensor itself would lead back to this function.
  if (isTensor(p)) return norm(input, p.item(), dim, keepdim, out, dtype);
  // Any other value would lead back to this function too.
  if (typeof p !== 'string' && p !== null && !isScalar(p)) throw refuse('norm', 'p', "a number, 'fro' or 'nuc'", p);
  // Without options the op's fast path takes the call.
  const options = dtype === null && out === null ? [] : [{ dtype: dtype ?? undefined, out: out ?? undefined }];
  if (typeof p !== 'string') return aten.norm!(input, p, dim ?? allDims(input), keepdim, ...options);
  if (p !== 'fro' && p !== 'nuc') throw refuse('norm', 'p', "a number, 'fro' or 'nuc'", p);
  if (dtype !== null) {
    // The old ops of these two norms have no dtype; their successors do.
    if (p === 'fro' && (dim?.length ?? 0) <= 2) return linalg.vectorNorm!(input, 2, dim, keepdim, ...options);
    return linalg.matrixNorm!(input, p, dim ?? allDims(input), keepdim, ...options);
  }
  if (p === 'nuc') {
    return dim === null
      ? aten.nuclearNorm!(input, keepdim, ...options)
      : aten.nuclearNorm!(input, dim, keepdim, ...options);
  }
  // An empty list means all dimensions.
  return aten.frobeniusNorm!(input, dim ?? (out === null ? [] : allDims(input)), keepdim, ...options);
}

const allDims = (input: Tensor) => input.shape.map((_, i) => i);
