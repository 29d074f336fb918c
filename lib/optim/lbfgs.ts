/** torch/optim/lbfgs.py. */
import { inGradMode } from '../autograd/mode';
import { ops } from '../autograd/tuples';
import { argumentError, refusal } from '../errors/errors';
import { ownScope } from '../lifetimes/scope';
import { isTensor, type Tensor } from '../tensor/tensor';
import { BuiltIn, numberIn, real } from './built-in';
import type { ParamGroup, Params } from './groups';
import { atMost, div, less, min, mul, type Num, sub, toNumber } from './mixed';
import type { LBFGSOptions } from './options';
import { lbfgsMaximizes, lbfgsTakesComplex } from './release';
import { owned, type ParamState } from './state-dict';
import { MAX_CALLS, strongWolfe } from './strong-wolfe';

/** A number of the state, which outlives the step. */
const kept = (value: Num): Num => (isTensor(value) ? owned(value) : value);

/** Where a step is. */
interface Place {
  loss: number;
  grad: Tensor;
  /** Calls of the closure in this step. */
  calls: number;
}

/** L-BFGS: one step computes the loss several times, so it needs a closure. Takes one group of parameters. */
export class LBFGS extends BuiltIn<LBFGSOptions> {
  constructor(params: Params<LBFGSOptions>, options: LBFGSOptions = {}) {
    super('LBFGS', params, options);
    const { defaults } = this;
    defaults.maxEval ??= Math.floor((defaults.maxIter! * 5) / 4);
    if (this.paramGroups.length !== 1) {
      throw refusal(this._name(), 'params', 'one group of parameters', String(this.paramGroups.length));
    }
    this.paramGroups[0]!.maxEval ??= defaults.maxEval;
  }

  override step<T>(closure?: () => T): any {
    const fn = this._name('step');
    return this._whole(fn, closure, () => {
      if (closure === undefined) throw argumentError(fn, 'closure', 'a function that computes the loss', closure);
      const first = this._loss(fn, closure);
      this._demandOptions(fn);
      this._demandUsable(fn, this.paramGroups[0]!);
      inGradMode(false, () => ownScope(() => this.#iterate(fn, closure, this.#lossOf(fn, first))));
      return first;
    });
  }

  get #params(): Tensor[] {
    return this.paramGroups[0]!.params;
  }

  #flatGrad(): Tensor {
    const flat = this.#params.map((parameter) => {
      const { grad } = parameter;
      const dense = grad === null ? parameter.newZeros([parameter.numel]) : grad.isSparse ? grad.toDense() : grad;
      return real(lbfgsTakesComplex && parameter.isComplex(), dense as Tensor).reshape([-1]) as Tensor;
    });
    const whole = ops().cat!(flat, 0) as Tensor;
    return this.#maximizes ? (whole.neg_() as Tensor) : whole;
  }

  get #maximizes(): boolean {
    return this.paramGroups[0]!.maximize === true;
  }

  /** What is minimized. */
  #lossOf(fn: string, loss: unknown): number {
    return this.#maximizes ? -lossOf(fn, loss) : lossOf(fn, loss);
  }

  #move(distance: Num, direction: Tensor): void {
    let offset = 0;
    for (const parameter of this.#params) {
      const target = real(lbfgsTakesComplex && parameter.isComplex(), parameter);
      const part = direction.narrow(0, offset, target.numel).viewAs(target) as Tensor;
      target.add_(part, { alpha: toNumber(distance) });
      offset += target.numel;
    }
  }

  #iterate(fn: string, closure: () => unknown, loss: number): void {
    const group = this.paramGroups[0]! as ParamGroup<LBFGSOptions>;
    const parameter = this.#params[0]!;
    const state = this.state.get(parameter) ?? { func_evals: 0, n_iter: 0 };
    this.state.set(parameter, state);
    state.func_evals++;
    const place: Place = { loss, grad: this.#flatGrad(), calls: 1 };
    const tolerance = group.toleranceGrad!;
    if (atMost(largest(place.grad), tolerance)) return;
    for (let n = 1; n <= group.maxIter!; n++) {
      // The tensors of one iteration are released at its end, except the gradient, with which the next one starts.
      const goesOn = ownScope(() => {
        const goes = this.#iteration(fn, closure, group, state, place, n);
        owned(place.grad);
        return goes;
      });
      if (!goesOn) break;
    }
  }

  /** Whether there is another iteration. */
  #iteration(
    fn: string,
    closure: () => unknown,
    group: ParamGroup<LBFGSOptions>,
    state: ParamState,
    place: Place,
    n: number,
  ): boolean {
    const { maxIter, maxEval, toleranceGrad, toleranceChange, lineSearchFn, lr } = group;
    const { grad, loss: lossBefore } = place;
    state.n_iter++;
    const isFirst = state.n_iter === 1;
    state.d = owned(isFirst ? firstDirection(grad, state) : nextDirection(grad, state, group.historySize!));
    const direction = state.d as Tensor;
    if (isTensor(state.prev_flat_grad)) state.prev_flat_grad.copy_(grad);
    else state.prev_flat_grad = owned(grad.clone() as Tensor);
    state.prev_loss = lossBefore;
    const sum = () => (grad.abs() as Tensor).sum() as Tensor;
    // A copy of a rate that is a tensor: `dispose` releases the state.
    const rate: Num = isTensor(lr) ? (lr.clone() as Tensor) : lr!;
    state.t = kept(isFirst ? mul(min(1, div(1, sum())), rate) : rate);
    const slope = grad.dot(direction) as Tensor;
    if (less(-toleranceChange!, slope)) return false;

    let calls = 0;
    if (lineSearchFn === 'strong_wolfe') {
      const before = this.#params.map((parameter) => parameter.clone() as Tensor);
      const objective = (distance: Num) => {
        this.#move(distance, direction);
        const loss = this.#lossOf(fn, this._loss(fn, closure));
        const flat = this.#flatGrad();
        for (const [i, parameter] of this.#params.entries()) parameter.copy_(before[i]!);
        return { loss, grad: flat };
      };
      const found = strongWolfe(
        objective,
        { loss: lossBefore, grad, slope },
        direction,
        state.t,
        toleranceChange!,
        lbfgsMaximizes ? maxEval! - place.calls : MAX_CALLS,
      );
      place.loss = found.loss;
      place.grad = found.grad;
      state.t = kept(found.at);
      calls = found.calls;
      this.#move(state.t, direction);
    } else {
      this.#move(state.t, direction);
      if (n !== maxIter) {
        place.loss = this.#lossOf(fn, this._loss(fn, closure));
        place.grad = this.#flatGrad();
        calls = 1;
      }
    }
    place.calls += calls;
    state.func_evals += calls;
    if (n === maxIter || place.calls >= maxEval!) return false;
    if (atMost(largest(place.grad), toleranceGrad!)) return false;
    if (atMost(largest(mul(direction, state.t) as Tensor), toleranceChange!)) return false;
    return !(Math.abs(place.loss - lossBefore) < toleranceChange!);
  }
}

const largest = (values: Tensor): Tensor => (values.abs() as Tensor).max() as Tensor;

function lossOf(fn: string, loss: unknown): number {
  if (typeof loss === 'number') return loss;
  if (isTensor(loss) && loss.numel === 1) return Number(loss.item());
  throw argumentError(fn, "closure's result", 'a Tensor of one element or a number', loss);
}

function firstDirection(grad: Tensor, state: ParamState): Tensor {
  Object.assign(state, { old_dirs: [], old_stps: [], ro: [], H_diag: 1 });
  return grad.neg() as Tensor;
}

/** The direction of the last gradients' quadratic model: the two loops of L-BFGS. */
function nextDirection(grad: Tensor, state: ParamState, historySize: number): Tensor {
  const { old_dirs: changes, old_stps: steps, ro } = state as Record<'old_dirs' | 'old_stps' | 'ro', Tensor[]>;
  const y = grad.sub(state.prev_flat_grad) as Tensor;
  const s = mul(state.d, state.t) as Tensor;
  const ys = y.dot(s) as Tensor;
  if (less(1e-10, ys)) {
    if (changes.length === historySize) for (const list of [changes, steps, ro]) list.shift();
    changes.push(owned(y));
    steps.push(owned(s));
    ro.push(owned(div(1, ys) as Tensor));
    state.H_diag = owned(div(ys, y.dot(y) as Tensor) as Tensor);
  }
  state.al ??= new Array(historySize).fill(null);
  const al = state.al as Tensor[];
  const q = grad.neg() as Tensor;
  for (let i = changes.length - 1; i >= 0; i--) {
    al[i] = owned(mul(steps[i]!.dot(q) as Tensor, ro[i]!) as Tensor);
    q.add_(changes[i]!, { alpha: -numberIn(al[i]!) });
  }
  const r = mul(q, state.H_diag as Num) as Tensor;
  for (const [i, step] of steps.entries()) {
    const be = mul(changes[i]!.dot(r) as Tensor, ro[i]!);
    r.add_(step, { alpha: numberIn(sub(al[i]!, be) as Tensor) });
  }
  return r;
}
