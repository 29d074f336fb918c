/** Properties of a pending tensor that are known before its op has run. */
import type { Device, DType } from '../../types/base';

/** The properties of a result that follow from the op's arguments, without the elements. */
export interface Known {
  readonly dtype: DType;
  readonly device: Device;
  readonly shape: number[];
}

const product = (shape: readonly number[]) => shape.reduce((all, size) => all * size, 1);

/** Tensor properties that are known before the op has run. */
export const knownProperties: Record<string, (known: Known) => unknown> = {
  shape: ({ shape }) => shape,
  length: ({ shape }) => shape[0],
  dtype: ({ dtype }) => dtype,
  device: ({ device }) => device,
  ndim: ({ shape }) => shape.length,
  numel: ({ shape }) => product(shape),
  nbytes: ({ shape, dtype }) => product(shape) * bytesOf(dtype),
  layout: () => 'strided',
  isCpu: ({ device }) => device === 'cpu',
  isCuda: ({ device }) => device.startsWith('cuda'),
  isMeta: ({ device }) => device.startsWith('meta'),
  isSparse: () => false,
  isSparseCsr: () => false,
  isMkldnn: () => false,
  isQuantized: ({ dtype }) => /^qu?int/.test(dtype),
};

function bytesOf(dtype: DType): number {
  const bits = Number(/\d+/.exec(dtype)?.[0] ?? 8);
  return bits / 8;
}

/** The same for methods without arguments. */
export const knownMethods: Record<string, (known: Known) => unknown> = {
  dim: ({ shape }) => shape.length,
  ndimension: ({ shape }) => shape.length,
  nelement: ({ shape }) => product(shape),
  elementSize: ({ dtype }) => bytesOf(dtype),
  isFloatingPoint: ({ dtype }) => /^b?float/.test(dtype),
  isComplex: ({ dtype }) => dtype.startsWith('complex'),
  isSigned: ({ dtype }) => !/^(u|qu|bool)/.test(dtype),
};
