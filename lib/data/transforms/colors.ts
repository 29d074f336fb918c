/** Changes of colours, by torchvision's formulas. Callers release what they make. */
import { ops } from '../../autograd/tuples';
import { argumentError } from '../../errors/errors';
import type { Tensor } from '../../tensor/tensor';
import { isFloat } from './image';

const FN = 'utils.data.transforms.ColorJitter';

const channelsOf = (image: Tensor): number => image.shape.at(-3)!;
const planes = (image: Tensor): [Tensor, Tensor, Tensor] =>
  [0, 1, 2].map((i) => image.select(-3, i) as Tensor) as never;

/** The largest value of an image's dtype, torchvision's _max_value. */
const MOST: Readonly<Record<string, number>> = {
  uint8: 255,
  int8: 127,
  int16: 32_767,
  int32: 2_147_483_647,
  int64: 2 ** 63 - 1,
};
const mostOf = (image: Tensor): number => MOST[image.dtype] ?? 1;

/** factor · a + (1 - factor) · b, within the bounds of the dtype. */
function blended(a: Tensor, b: Tensor, factor: number): Tensor {
  const mixed = a.mul(factor).add(b.mul(1 - factor)) as Tensor;
  return mixed.clamp(0, mostOf(a)).to(a.dtype) as Tensor;
}

function grey(image: Tensor): Tensor {
  if (channelsOf(image) === 1) return image;
  const [r, g, b] = planes(image);
  return r.mul(0.2989).add(g.mul(0.587)).add(b.mul(0.114)).to(image.dtype).unsqueeze(-3) as Tensor;
}

export const brightness = (image: Tensor, factor: number): Tensor =>
  blended(image, image.zerosLike() as Tensor, factor);

export function contrast(image: Tensor, factor: number): Tensor {
  const dtype = isFloat(image) ? image.dtype : 'float32';
  return blended(image, grey(image).to(dtype).mean([-3, -2, -1], true) as Tensor, factor);
}

export const saturation = (image: Tensor, factor: number): Tensor =>
  channelsOf(image) === 1 ? image : blended(image, grey(image), factor);

/** Turns the circle of colours by a part of it. */
export function hue(image: Tensor, turn: number): Tensor {
  if (channelsOf(image) === 1) return image;
  if (/^int(32|64)$/.test(image.dtype)) {
    // As torchvision: float32 does not hold their values.
    throw argumentError(FN, 'image', 'a Tensor of floats or of integers of at most 16 bits, to change the hue', image);
  }
  const most = mostOf(image);
  const floats = (isFloat(image) ? image : image.to('float32').div(most)) as Tensor;
  const [h, s, v] = hsvOf(floats);
  const turned = rgbOf(h.add(turn).remainder(1) as Tensor, s, v);
  // torchvision's conversion, which rounds down.
  return (isFloat(image) ? turned : turned.mul(most + 1 - 1e-3).to(image.dtype)) as Tensor;
}

function hsvOf(image: Tensor): [h: Tensor, s: Tensor, v: Tensor] {
  const [r, g, b] = planes(image);
  const high = image.amax([-3]) as Tensor;
  const low = image.amin([-3]) as Tensor;
  const same = high.eq(low) as Tensor;
  const range = high.sub(low) as Tensor;
  const ones = high.onesLike() as Tensor;
  const s = range.div(ones.where(same, high)) as Tensor;
  const divisor = ones.where(same, range) as Tensor;
  const [rc, gc, bc] = [r, g, b].map((one) => high.sub(one).div(divisor) as Tensor) as [Tensor, Tensor, Tensor];
  const isR = high.eq(r) as Tensor;
  const isG = high.eq(g).logicalAnd(isR.logicalNot()) as Tensor;
  const isB = high.ne(g).logicalAnd(isR.logicalNot()) as Tensor;
  const parts = [isR.mul(bc.sub(gc)), isG.mul(rc.add(2).sub(bc)), isB.mul(gc.add(4).sub(rc))] as Tensor[];
  const sum = parts[0]!.add(parts[1]!).add(parts[2]!);
  return [sum.div(6).add(1).fmod(1) as Tensor, s, high];
}

function rgbOf(h: Tensor, s: Tensor, v: Tensor): Tensor {
  const six = h.mul(6);
  const floor = six.floor();
  const f = six.sub(floor);
  const clamped = (x: unknown) => v.mul(x as Tensor).clamp(0, 1) as Tensor;
  const p = clamped(s.neg().add(1));
  const q = clamped(
    s
      .mul(f as Tensor)
      .neg()
      .add(1),
  );
  const t = clamped(
    s
      .mul(f.neg().add(1) as Tensor)
      .neg()
      .add(1),
  );
  const sector = floor.to('int64').remainder(6).unsqueeze(-3) as Tensor;
  const choices = [
    [v, q, p, p, t, v],
    [t, v, v, q, p, p],
    [p, p, t, v, v, q],
  ];
  const channels = choices.map((of) => ops().stack!(of, -3).gather(-3, sector) as Tensor);
  return ops().cat!(channels, -3);
}
