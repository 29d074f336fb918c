/** torchvision's ColorJitter. */

import { ownOptions } from '../../addon/options';
import { upTo } from '../../errors/arity';
import { argumentError } from '../../errors/errors';
import { ownScope } from '../../lifetimes/scope';
import type { Tensor } from '../../tensor/tensor';
import { brightness, contrast, hue, saturation } from './colors';
import { coloursOf, type Transform } from './image';
import { type Drawing, permuted, uniform } from './random';

const FN = 'utils.data.transforms.ColorJitter';

/** How much: a number, or the smallest and the largest factor. */
export type Jitter = number | readonly [low: number, high: number];

export interface ColorJitterOptions {
  brightness?: Jitter | undefined;
  contrast?: Jitter | undefined;
  saturation?: Jitter | undefined;
  /** At most 0.5: a part of the circle of colours. */
  hue?: Jitter | undefined;
}

type Range = readonly [low: number, high: number] | null;

function rangeOf(name: string, value: Jitter | undefined, center: number, bounds: readonly [number, number]): Range {
  if (value === undefined) return null;
  const [least, most] = bounds;
  const pair = typeof value === 'number' ? [center - value, center + value] : value;
  const valid = Array.isArray(pair) && pair.length === 2 && pair.every((one) => typeof one === 'number');
  const range = valid ? [typeof value === 'number' ? Math.max(pair[0]!, least) : pair[0]!, pair[1]!] : [1, 0];
  const [low, high] = range as [number, number];
  if (!(low >= least && low <= high && high <= most) || (typeof value === 'number' && value < 0)) {
    const expected = `a number of 0 or more, or two from ${least} to ${most}`;
    throw argumentError(FN, name, expected, value);
  }
  return low === high && low === center ? null : [low, high];
}

const MAX_HUE = 0.5;

/** Changes brightness, contrast, saturation and hue by random factors, in random order. */
export class ColorJitter implements Transform {
  /** In the order in which factors are drawn. */
  readonly #steps: readonly { range: Range; adjust: (image: Tensor, factor: number) => Tensor }[];

  constructor(options?: ColorJitterOptions);
  constructor(...passed: [options?: ColorJitterOptions]) {
    const [options = {}] = upTo(FN, 1, passed);
    const given = ownOptions(FN, options, ['brightness', 'contrast', 'saturation', 'hue']);
    const factors = [0, Number.POSITIVE_INFINITY] as const;
    const { hue: turn } = given;
    if (typeof turn === 'number' && turn > MAX_HUE) throw argumentError(FN, 'hue', `at most ${MAX_HUE}`, turn);
    this.#steps = [
      { range: rangeOf('brightness', given.brightness, 1, factors), adjust: brightness },
      { range: rangeOf('contrast', given.contrast, 1, factors), adjust: contrast },
      { range: rangeOf('saturation', given.saturation, 1, factors), adjust: saturation },
      { range: rangeOf('hue', turn, 0, [-MAX_HUE, MAX_HUE]), adjust: hue },
    ];
  }

  forward(given: Tensor, context?: Drawing): Tensor {
    const image = coloursOf(FN, given);
    const order = permuted(this.#steps.length, context);
    const factors = this.#steps.map(({ range }) => (range === null ? null : uniform(...range, context)));
    return ownScope(() =>
      order.reduce((changed, i) => {
        const factor = factors[i]!;
        return factor === null ? changed : this.#steps[i]!.adjust(changed, factor);
      }, image),
    );
  }
}
