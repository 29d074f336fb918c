/** torch.finfo and torch.iinfo. */
import type { DType, FInfo, IInfo } from '../../types/base';
import { refuse } from './support';

/** Total bits, bits of the fraction, and the exponent of the smallest normal number. */
const floats: Partial<Record<DType, [bits: number, fraction: number, lowest: number]>> = {
  float16: [16, 10, -14],
  bfloat16: [16, 7, -126],
  float32: [32, 23, -126],
  float64: [64, 52, -1022],
};
/** The dtype of the parts of a complex dtype. */
const parts: Partial<Record<DType, DType>> = { complex32: 'float16', complex64: 'float32', complex128: 'float64' };
const integers: Partial<Record<DType, [bits: number, signed: boolean]>> = {
  uint8: [8, false],
  int8: [8, true],
  int16: [16, true],
  int32: [32, true],
  int64: [64, true],
  qint8: [8, true],
  quint8: [8, false],
  qint32: [32, true],
};

export function finfo(dtype: DType): FInfo {
  const real = parts[dtype] ?? dtype;
  const figures = floats[real];
  if (figures === undefined) {
    throw refuse('finfo', 'dtype', 'a floating-point or complex dtype (torch.iinfo for integers)', dtype);
  }
  const [bits, fraction, lowest] = figures;
  const eps = 2 ** -fraction;
  // The largest exponent is 1 - lowest; 2^1024 itself would overflow.
  const max = (2 - eps) * 2 ** (1 - lowest);
  const tiny = 2 ** lowest;
  // The decimal digits that are always exact in this dtype.
  const digits = Math.floor(fraction * Math.log10(2));
  const resolution = Number(`1e-${digits}`);
  return { dtype: real, bits, eps, max, min: -max, tiny, smallestNormal: tiny, resolution };
}

export function iinfo(dtype: DType): IInfo {
  const figures = integers[dtype];
  if (figures === undefined) throw refuse('iinfo', 'dtype', 'an integer dtype (torch.finfo for others)', dtype);
  const [bits, signed] = figures;
  const span = 1n << BigInt(signed ? bits - 1 : bits);
  const exact = (value: bigint) => (Number.isSafeInteger(Number(value)) ? Number(value) : value);
  return { dtype, bits, max: exact(span - 1n), min: signed ? exact(-span) : 0 };
}
