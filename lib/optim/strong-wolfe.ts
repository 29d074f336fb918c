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

/** Searches from `start` (distance 0) along `direction`, first at `firstAt`, in at most `steps` steps. */
export function strongWolfe(
  objective: Objective,
  start: { loss: number; grad: Tensor; slope: Tensor },
  direction: Tensor,
  firstAt: Num,
  tolerance: number,
  steps: number,
): Found {
  const norm = (direction.abs() as Tensor).max() as Tensor;
  const { loss: f, slope } = start;
  let calls = 0;
  const tried = (at: Num): Point => {
    const { loss, grad } = objective(at);
    calls++;
    return { at, loss, grad, slope: grad.dot(direction) as Tensor };
  };
  const isTooHigh = (point: Point) => less(add(f, mul(mul(C1, point.at), slope)), point.loss);
  const isFlat = (point: Point) => atMost(abs(point.slope), mul(-C2, slope));

  const zero: Point = { at: 0, loss: f, grad: start.grad.clone() as Tensor, slope };
  let before = zero;
  let now = tried(firstAt);
  let bracket: Point[] = [];
  let isDone = false;
  let n = 0;
  while (n < steps) {
    if (isTooHigh(now) || (n > 1 && now.loss >= before.loss)) {
      bracket = [before, copyOf(now)];
      break;
    }
    if (isFlat(now)) {
      bracket = [now];
      isDone = true;
      break;
    }
    if (atMost(0, now.slope)) {
      bracket = [before, copyOf(now)];
      break;
    }
    const bounds = [add(now.at, mul(0.01, sub(now.at, before.at))), mul(now.at, 10)] as const;
    const at = interpolated(before, now, bounds);
    before = copyOf(now);
    now = tried(at);
    n++;
  }
  if (n === steps) bracket = [zero, now];

  let low = bracket[0]!.loss <= bracket.at(-1)!.loss ? 0 : 1;
  let isStuck = false;
  while (!isDone && n < steps) {
    const [one, two] = bracket as [Point, Point];
    if (less(mul(abs(sub(two.at, one.at)), norm), tolerance)) break;
    let at = interpolated(one, two);
    const most = max(one.at, two.at);
    const least = min(one.at, two.at);
    const margin = mul(0.1, sub(most, least));
    if (less(min(sub(most, at), sub(at, least)), margin)) {
      if (isStuck || atMost(most, at) || atMost(at, least)) {
        at = less(abs(sub(at, most)), abs(sub(at, least))) ? sub(most, margin) : add(least, margin);
        isStuck = false;
      } else {
        isStuck = true;
      }
    } else {
      isStuck = false;
    }
    now = tried(at);
    n++;
    const high = 1 - low;
    if (isTooHigh(now) || now.loss >= bracket[low]!.loss) {
      bracket[high] = copyOf(now);
      low = bracket[0]!.loss <= bracket[1]!.loss ? 0 : 1;
    } else {
      if (isFlat(now)) isDone = true;
      else if (atMost(0, mul(now.slope, sub(bracket[high]!.at, bracket[low]!.at)))) bracket[high] = bracket[low]!;
      bracket[low] = copyOf(now);
    }
  }
  const { at, loss, grad } = bracket[low]!;
  return { at, loss, grad, calls };
}
