/** The line search of torch/optim/lbfgs.py, for the strong Wolfe conditions. */
import type { Tensor } from '../tensor/tensor';
import { abs, add, atMost, div, less, max, min, mul, type Num, sub } from './mixed';

/** The loss and the gradient at a distance along the direction. */
export type Objective = (distance: Num) => { loss: number; grad: Tensor };

interface Point {
  at: Num;
  loss: number;
  grad: Tensor;
  /** The derivative along the direction. */
  slope: Tensor;
}

export interface Found {
  readonly at: Num;
  readonly loss: number;
  readonly grad: Tensor;
  /** Calls of the objective. */
  readonly calls: number;
}

const C1 = 1e-4;
const C2 = 0.9;
export const MAX_CALLS = 25;

/** The minimum of the cubic through two points with their slopes, within bounds. */
function interpolated(one: Point, two: Point, bounds?: readonly [Num, Num]): Num {
  const { at: x1, loss: f1, slope: g1 } = one;
  const { at: x2, loss: f2, slope: g2 } = two;
  const isOrdered = atMost(x1, x2);
  const [low, high] = bounds ?? (isOrdered ? [x1, x2] : [x2, x1]);
  const d1 = sub(add(g1, g2), div(3 * (f1 - f2), sub(x1, x2))) as Tensor;
  const square = sub(d1.pow(2) as Tensor, mul(g1, g2)) as Tensor;
  if (!atMost(0, square)) return div(add(low, high), 2);
  const d2 = square.sqrt() as Tensor;
  const least = isOrdered
    ? sub(x2, mul(sub(x2, x1), div(sub(add(g2, d2), d1), add(sub(g2, g1), mul(2, d2)))))
    : sub(x1, mul(sub(x1, x2), div(sub(add(g1, d2), d1), add(sub(g1, g2), mul(2, d2)))));
  return min(max(least, low), high);
}

const copyOf = (point: Point): Point => ({ ...point, grad: point.grad.clone() as Tensor });

/** One search: its start, and the number of steps that are left. */
class Search {
  calls = 0;
  private readonly zero: Point;

  constructor(
    private readonly objective: Objective,
    start: { loss: number; grad: Tensor; slope: Tensor },
    private readonly direction: Tensor,
    private left: number,
  ) {
    this.zero = { at: 0, loss: start.loss, grad: start.grad.clone() as Tensor, slope: start.slope };
  }

  private tried(at: Num): Point {
    const { loss, grad } = this.objective(at);
    this.calls++;
    return { at, loss, grad, slope: grad.dot(this.direction) as Tensor };
  }

  private isTooHigh(point: Point): boolean {
    return less(add(this.zero.loss, mul(mul(C1, point.at), this.zero.slope)), point.loss);
  }

  private isFlat(point: Point): boolean {
    return atMost(abs(point.slope), mul(-C2, this.zero.slope));
  }

  /** Two points with a minimum between them, or one that is good enough. */
  bracket(firstAt: Num): [Point] | [Point, Point] {
    let before = this.zero;
    let now = this.tried(firstAt);
    for (let n = 0; this.left > 0; n++, this.left--) {
      if (this.isTooHigh(now) || (n > 1 && now.loss >= before.loss)) return [before, copyOf(now)];
      if (this.isFlat(now)) return [now];
      if (atMost(0, now.slope)) return [before, copyOf(now)];
      const bounds = [add(now.at, mul(0.01, sub(now.at, before.at))), mul(now.at, 10)] as const;
      const at = interpolated(before, now, bounds);
      before = copyOf(now);
      now = this.tried(at);
    }
    return [this.zero, now];
  }

  /** Makes the bracket smaller, until a point is good enough or the bracket is within `tolerance`. */
  zoom(bracket: [Point, Point], tolerance: number): Point {
    const norm = (this.direction.abs() as Tensor).max() as Tensor;
    const lower = () => (bracket[0].loss <= bracket[1].loss ? 0 : 1);
    let low: 0 | 1 = lower();
    let isStuck = false;
    for (; this.left > 0; this.left--) {
      if (less(mul(abs(sub(bracket[1].at, bracket[0].at)), norm), tolerance)) break;
      const next = between(bracket, isStuck);
      isStuck = next.isStuck;
      const now = this.tried(next.at);
      const high = low === 0 ? 1 : 0;
      if (this.isTooHigh(now) || now.loss >= bracket[low].loss) {
        bracket[high] = copyOf(now);
        low = lower();
        continue;
      }
      if (this.isFlat(now)) return copyOf(now);
      if (atMost(0, mul(now.slope, sub(bracket[high].at, bracket[low].at)))) bracket[high] = bracket[low];
      bracket[low] = copyOf(now);
    }
    return bracket[low];
  }
}

/** The next point within the bracket. One that is close to a bound for the second time in turn is moved away from it. */
function between([one, two]: readonly [Point, Point], isStuck: boolean): { at: Num; isStuck: boolean } {
  const at = interpolated(one, two);
  const most = max(one.at, two.at);
  const least = min(one.at, two.at);
  const margin = mul(0.1, sub(most, least));
  if (!less(min(sub(most, at), sub(at, least)), margin)) return { at, isStuck: false };
  if (!isStuck && !atMost(most, at) && !atMost(at, least)) return { at, isStuck: true };
  const isNearMost = less(abs(sub(at, most)), abs(sub(at, least)));
  return { at: isNearMost ? sub(most, margin) : add(least, margin), isStuck: false };
}

/** Searches from `start` (distance 0) along `direction`, first at `firstAt`, in at most `steps` steps. */
export function strongWolfe(
  objective: Objective,
  start: { loss: number; grad: Tensor; slope: Tensor },
  direction: Tensor,
  firstAt: Num,
  tolerance: number,
  steps: number,
): Found {
  const search = new Search(objective, start, direction, steps);
  const [one, two] = search.bracket(firstAt);
  const { at, loss, grad } = two === undefined ? one : search.zoom([one, two], tolerance);
  return { at, loss, grad, calls: search.calls };
}
