/** Dropout. */
import { argumentError } from '../errors/errors';
import { flag, float, nameOf } from './arguments';
import { layer, type ValueLayer } from './layer';
import { F } from './ops';

const dropout = (name: string) => {
  const op = name.charAt(0).toLowerCase() + name.slice(1);
  return layer<[p?: number, inplace?: boolean], ValueLayer>()(
    name,
    { p: float(0.5), inplace: flag(false) },
    {
      forward(input) {
        return F[op](input, this.p, this.training, this.inplace);
      },
      init({ p }) {
        if (!(p >= 0 && p <= 1)) throw argumentError(nameOf(name), 'p', 'a probability from 0 to 1', p);
      },
      extra: 'p={p}, inplace={inplace}',
    },
  );
};

export const Dropout = dropout('Dropout');
export type Dropout = InstanceType<typeof Dropout>;
export const Dropout1d = dropout('Dropout1d');
export type Dropout1d = InstanceType<typeof Dropout1d>;
export const Dropout2d = dropout('Dropout2d');
export type Dropout2d = InstanceType<typeof Dropout2d>;
export const Dropout3d = dropout('Dropout3d');
export type Dropout3d = InstanceType<typeof Dropout3d>;
export const AlphaDropout = dropout('AlphaDropout');
export type AlphaDropout = InstanceType<typeof AlphaDropout>;
export const FeatureAlphaDropout = dropout('FeatureAlphaDropout');
export type FeatureAlphaDropout = InstanceType<typeof FeatureAlphaDropout>;
