/** The data: points on three spirals, one class each. */
import torch, { type Tensor } from 'libtorch-node';

export const CLASSES = 3;

export interface Points {
  /** float32, [points, 2]. */
  x: Tensor;
  /** int64, [points]: the class of each point. */
  y: Tensor;
}

/** @param perClass number of points of each class */
export function spirals(perClass: number): Points {
  return torch.scope(() => {
    const arms = Array.from({ length: CLASSES }, (_, arm) => {
      const radius = torch.linspace(0.05, 1, perClass);
      const noise = torch.randn([perClass]).mul(0.1);
      const angle = radius
        .mul(4)
        .add((arm * 2 * Math.PI) / CLASSES)
        .add(noise);
      return torch.stack([radius.mul(angle.cos()), radius.mul(angle.sin())], 1);
    });
    const x = torch.cat(arms);
    const y = torch.arange(CLASSES).repeatInterleave(perClass);
    return { x, y };
  });
}
