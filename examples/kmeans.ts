/**
 * k-means: finds groups of points in the plane. One broadcast computes the distances of all points to all centres, and an
 * index tensor sums the points of each group. `node examples/kmeans.js`
 */
import torch, { type Tensor } from 'libtorch-node';

const GROUPS = [
  [0, 0],
  [5, 1],
  [2, 6],
];
const EACH = 100;

/** The nearest centre of each of `N` points, in `D` dimensions. */
function nearest<N extends number, K extends number, D extends number>(
  points: Tensor<'float32', [N, D]>,
  centres: Tensor<'float32', [K, D]>,
): Tensor<'int64', [N]> {
  return points.unsqueeze(1).sub(centres.unsqueeze(0)).square().sum(2).argmin(1); // [N, K, D] -> [N]
}

/** The mean of the points of each group. */
function means<N extends number, D extends number>(
  points: Tensor<'float32', [N, D]>,
  groups: Tensor<'int64', [N]>,
  count: number,
) {
  const sums = torch.zeros([count, points.shape[1]]).indexAdd(0, groups, points);
  const sizes = torch.bincount(groups, { minlength: count });
  return sums.div(sizes.unsqueeze(1)); // [count, D] by [count, 1]
}

torch.manualSeed(4);
const points = torch.cat(GROUPS.map((centre) => torch.randn([EACH, 2]).add(torch.tensor(centre)))) as Tensor<
  'float32',
  [300, 2]
>;
// Initial centres far apart: each is the point that is farthest from the previous ones.
let centres = points.narrow(0, 0, 1) as Tensor<'float32', [number, 2]>;
while (centres.shape[0] < GROUPS.length) {
  const farthest = torch.cdist(points, centres).amin(1).argmax();
  centres = torch.cat([centres, points.indexSelect(0, farthest.unsqueeze(0))]);
}
for (let round = 1; ; round++) {
  // The scope frees the tensors of a round, except the new centres, which it returns.
  const moved = torch.scope(() => means(points, nearest(points, centres), GROUPS.length));
  const distance = torch.scope(() => moved.sub(centres).norm().item());
  centres = moved;
  if (distance < 1e-4) {
    console.log(`settled after ${round} rounds`);
    break;
  }
}
const rows = centres.tolist() as number[][];
rows.sort((a, b) => a[0]! - b[0]!);
for (const row of rows) console.log(`centre ${row.map((value) => value.toFixed(1)).join(', ')}`);
const groups = nearest(points, centres).view(GROUPS.length, EACH);
const agree = groups.eq(groups.mode(1).values.unsqueeze(1)).float().mean().item();
console.log(`${(100 * agree).toFixed(1)} % of the points are with their own`);
