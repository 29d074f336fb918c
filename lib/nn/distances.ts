/** Distances and similarities of pairs of vectors. */
import { flag, float, int, num } from './arguments';
import { layer, type PairLayer } from './layer';
import { F } from './ops';

export const PairwiseDistance = layer<[p?: number, eps?: number, keepdim?: boolean], PairLayer>()(
  'PairwiseDistance',
  { p: num(2), eps: float(1e-6), keepdim: flag(false) },
  {
    forward(x1, x2) {
      return F.pairwiseDistance(x1, x2, this.p, this.eps, this.keepdim);
    },
  },
);
export type PairwiseDistance = InstanceType<typeof PairwiseDistance>;

export const CosineSimilarity = layer<[dim?: number, eps?: number], PairLayer>()(
  'CosineSimilarity',
  { dim: int(1), eps: float(1e-8) },
  {
    forward(x1, x2) {
      return F.cosineSimilarity(x1, x2, this.dim, this.eps);
    },
  },
);
export type CosineSimilarity = InstanceType<typeof CosineSimilarity>;
