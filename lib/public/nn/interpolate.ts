/** torch/nn/functional.py: interpolate. */

import { define } from '../../call/define';
import { refusal } from '../../errors/errors';
import type { Tensor } from '../../tensor/tensor';
import { aten, nn } from '../ops';
import { refuse, spread, warn } from '../support';

type Sizes = number[];

/** The op for a mode and a number of spatial dimensions; `corners`: whether it takes alignCorners. */
const ops: Record<string, { corners: boolean; names: Partial<Record<number, string>> }> = {
  nearest: { corners: false, names: { 1: 'upsampleNearest1d', 2: 'upsampleNearest2d', 3: 'upsampleNearest3d' } },
  'nearest-exact': {
    corners: false,
    names: { 1: '_upsampleNearestExact1d', 2: '_upsampleNearestExact2d', 3: '_upsampleNearestExact3d' },
  },
  area: { corners: false, names: { 1: 'adaptiveAvgPool1d', 2: 'adaptiveAvgPool2d', 3: 'adaptiveAvgPool3d' } },
  linear: { corners: true, names: { 1: 'upsampleLinear1d' } },
  bilinear: { corners: true, names: { 2: 'upsampleBilinear2d' } },
  bicubic: { corners: true, names: { 2: 'upsampleBicubic2d' } },
  trilinear: { corners: true, names: { 3: 'upsampleTrilinear3d' } },
};
const antialiased: Record<string, string> = {
  bilinear: '_upsampleBilinear2dAa',
  bicubic: '_upsampleBicubic2dAa',
};

/** The sizes of the result or the scale factors, exactly one of which is given. */
function target(
  fn: string,
  input: Tensor,
  size: Sizes | null,
  factors: number[] | null,
  recompute: boolean,
): { size: Sizes | null; factors: number[] | null } {
  const dims = input.ndim - 2;
  if (dims < 1) throw refuse(fn, 'input', 'at least 3 dimensions: batch, channels and space', input);
  if ((size === null) === (factors === null)) {
    throw refusal(fn, 'size', 'either size or scaleFactor', size === null ? 'neither' : 'both');
  }
  const each = <T>(name: string, list: T[]): T[] => {
    const all = spread(list, dims);
    if (all.length !== dims) throw refuse(fn, name, `one number, or ${dims} for the input's spatial dimensions`, list);
    return all;
  };
  if (size !== null) return { size: each('size', size), factors: null };
  const scale = each('scaleFactor', factors!);
  if (!recompute) return { size: null, factors: scale };
  return { size: scale.map((factor, i) => Math.floor(input.shape[i + 2]! * factor)), factors: null };
}

function interpolate(
  input: Tensor,
  size: Sizes | null,
  scaleFactor: number[] | null,
  mode: string,
  alignCorners: boolean | null,
  recomputeScaleFactor: boolean | null,
  antialias: boolean,
): Tensor {
  const fn = 'interpolate';
  const kind = Object.hasOwn(ops, mode) ? ops[mode] : undefined;
  if (kind === undefined) throw refuse(fn, 'mode', `one of ${Object.keys(ops).join(', ')}`, mode);
  if (!kind.corners && alignCorners !== null) {
    throw refuse(fn, 'alignCorners', `none in mode '${mode}'`, alignCorners);
  }
  if (recomputeScaleFactor && size !== null) {
    throw refuse(fn, 'recomputeScaleFactor', 'false where size is given', recomputeScaleFactor);
  }
  const wanted = target(fn, input, size, scaleFactor, Boolean(recomputeScaleFactor) || mode === 'area');
  const dims = input.ndim - 2;
  const name = antialias && dims === 2 ? antialiased[mode] : kind.names[dims];
  if (antialias && (dims !== 2 || name === undefined)) {
    throw refuse(fn, 'antialias', "false except for 'bilinear' and 'bicubic' with an input of 4 dimensions", antialias);
  }
  if (name === undefined) {
    const fits = Object.keys(kind.names).map((n) => `${Number(n) + 2}`);
    throw refuse(fn, 'input', `a Tensor of ${fits.join(', ')} dimensions in mode '${mode}'`, input);
  }
  if (mode === 'area') return (dims === 1 ? aten : nn)[name]!(input, wanted.size);
  if (!kind.corners) return nn[name]!(input, wanted.size, wanted.factors);
  return nn[name]!(input, wanted.size, alignCorners ?? false, wanted.factors);
}

const deprecated = (name: string) =>
  warn(`nn.functional.${name} is deprecated. Use nn.functional.interpolate instead.`);

define(['nn.functional'], {
  interpolate,
  upsample: (
    input: Tensor,
    size: Sizes | null,
    scaleFactor: number[] | null,
    mode: string,
    alignCorners: boolean | null,
  ) => {
    deprecated('upsample');
    return interpolate(input, size, scaleFactor, mode, alignCorners, null, false);
  },
  upsampleNearest: (input: Tensor, size: Sizes | null, scaleFactor: number[] | null) => {
    deprecated('upsampleNearest');
    return interpolate(input, size, scaleFactor, 'nearest', null, null, false);
  },
  upsampleBilinear: (input: Tensor, size: Sizes | null, scaleFactor: number[] | null) => {
    deprecated('upsampleBilinear');
    return interpolate(input, size, scaleFactor, 'bilinear', true, null, false);
  },
});
