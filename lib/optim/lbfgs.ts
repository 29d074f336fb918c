/** torch/optim/lbfgs.py. */
import { native } from '../addon/native';
import { inGradMode } from '../autograd/mode';
import { ops } from '../autograd/tuples';
import { argumentError, describe, refusal } from '../errors/errors';
import { ownScope } from '../lifetimes/scope';
import { isTensor, type Tensor } from '../tensor/tensor';
import { BuiltIn, numberIn, real } from './built-in';
import type { Arguments, ParamGroup, Params } from './groups';
import { atMost, div, less, min, mul, type Num, sub, toNumber } from './mixed';
import { isEmpty, isScalar } from './needs';
import type { LBFGSOptions } from './options';
import { lbfgsMaximizes, lbfgsTakesComplex } from './release';
import { type OptimizerStateDict, owned, type ParamState } from './state-dict';
import { MAX_CALLS, strongWolfe } from './strong-wolfe';

/** Tensors that the program may have too: those are left to the collector when the optimizer drops them. */
const shared = new WeakSet<Tensor>();

/** Frees what a state no longer has. */
function drop(value: unknown): void {
  if (isTensor(value) && !shared.has(value)) native.free(value._handle);
}

/** Puts a value that outlives the step in a place of the state, and frees the one that was there. */
function put(place: Record<string, any>, key: string | number, value: Num): void {
  const before = place[key];
  place[key] = isTensor(value) ? owned(value) : value;
  if (before !== value) drop(before);
}

/** Where a step is. */
interface Place {
  loss: number;
  grad: Tensor;
  /** Calls of the closure in this step. */
  calls: number;
}

/** L-BFGS: one step computes the loss several times, so it needs a closure. Takes one group of parameters. */
export class LBFGS extends BuiltIn<LBFGSOptions> {
  constructor(params: Params<LBFGSOptions>, options?: LBFGSOptions);
  constructor(...passed: Arguments<LBFGSOptions>) {
    super('LBFGS', ...passed);
    const { defaults } = this;
    defaults.maxEval ??= Math.floor((defaults.maxIter! * 5) / 4);
    if (this.paramGroups.length !== 1) {
      throw refusal(this._name(), 'params', 'one group of parameters', String(this.paramGroups.length));
    }
    this.#group.maxEval ??= defaults.maxEval;
  }

  /** The only group. The program may have changed the list since, also in the closure. */
  get #group(): ParamGroup<LBFGSOptions> {
    const { length, 0: group } = this.paramGroups;
    if (length === 1) return group as ParamGroup<LBFGSOptions>;
    throw refusal(this._name('step'), 'paramGroups', 'one group of parameters', String(length));
  }

  // Without a closure it throws, so the types of programs refuse it.
  override step(this: 'optim.LBFGS.step needs a closure that computes the loss', closure?: undefined): never;
  override step<T>(closure: () => T): T;
  override step<T>(closure?: () => T): T {
    const fn = this._name('step');
    return this._whole(fn, closure, () => {
      if (closure === undefined) throw argumentError(fn, 'closure', 'a function that computes the loss', closure);
      const first = this._loss(fn, closure);
      this._demandOptions(fn);
      this._demandUsable(fn, this.#group);
      this.#demandHistory(fn);
      inGradMode(false, () => ownScope(() => this.#iterate(fn, closure, this.#lossOf(fn, first))));
      return first;
    });
  }

  readonly #copies = new WeakSet<ParamState>();

  /** loadStateDict makes copies, which only this optimizer has; a program may put the state of another one here. */
  override _fromOther(state: ParamState): ParamState {
    this.#copies.add(state);
    return state;
  }

  /** A state dict has the tensors themselves, which must not be freed by the next step. */
  override stateDict(): OptimizerStateDict {
    for (const values of this.state.values()) share(values);
    return super.stateDict();
  }

  /** The state that was checked, or begun here. */
  #checked: ParamState | undefined;

  /** Refuses a state from outside that does not fit. */
  #demandHistory(fn: string): void {
    const parameter = this.#params[0]!;
    const state = this.state.get(parameter);
    if (state === undefined) return;
    // A failed step may have begun the state and not made its first direction.
    if (state === this.#checked && (state.n_iter === 0 || state.d !== undefined)) return;
    const wrong = isEmpty(state) ? null : wrongHistory(state, this.#size);
    if (wrong !== null) throw this._badState(fn, parameter, wrong);
    if (!this.#copies.has(state)) share(state);
    this.#checked = state;
  }

  /** The number of real numbers in all parameters. */
  get #size(): number {
    const sizes = this.#params.map((one) => (lbfgsTakesComplex && one.isComplex() ? 2 : 1) * one.numel);
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  get #params(): Tensor[] {
    return this.#group.params;
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
    return this.#group.maximize === true;
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
    const group = this.#group;
    const parameter = this.#params[0]!;
    const state = this.state.get(parameter) ?? {};
    if (isEmpty(state)) Object.assign(state, { func_evals: 0, n_iter: 0 });
    this.state.set(parameter, state);
    this.#checked = state;
    state.func_evals++;
    const place: Place = { loss, grad: this.#flatGrad(), calls: 1 };
    const tolerance = group.toleranceGrad!;
    if (atMost(largest(place.grad), tolerance)) return;
    try {
      for (let n = 1; n <= group.maxIter!; n++) {
        const { grad } = place;
        // The tensors of one iteration are released at its end, except the gradient, with which the next one starts.
        const goesOn = ownScope(() => {
          const goes = this.#iteration(fn, closure, group, state, place, n);
          owned(place.grad);
          return goes;
        });
        if (place.grad !== grad) drop(grad);
        if (!goesOn) break;
      }
    } finally {
      drop(place.grad);
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
    // All that may fail for want of memory comes before the state changes: half a state would make every later step fail.
    const isFirst = state.n_iter === 0;
    const direction = isFirst ? firstDirection(grad, state) : nextDirection(grad, state, group.historySize!);
    const sum = () => (grad.abs() as Tensor).sum() as Tensor;
    // A copy of a rate that is a tensor: `dispose` releases the state.
    const rate: Num = isTensor(lr) ? (lr.clone() as Tensor) : lr!;
    const distance = isFirst ? mul(min(1, div(1, sum())), rate) : rate;
    const previous = isTensor(state.prev_flat_grad) ? state.prev_flat_grad : (grad.clone() as Tensor);
    state.n_iter++;
    put(state, 'd', direction);
    if (previous === state.prev_flat_grad) previous.copy_(grad);
    else state.prev_flat_grad = owned(previous);
    state.prev_loss = lossBefore;
    put(state, 't', distance);
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
      put(state, 't', found.at);
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
    // All are made before the lists change, so that they have the same length if an op fails.
    const factor = div(1, ys) as Tensor;
    const scale = div(ys, y.dot(y) as Tensor);
    changes.push(owned(y));
    steps.push(owned(s));
    ro.push(owned(factor));
    // The program may have made the history shorter.
    while (changes.length > historySize) for (const list of [changes, steps, ro]) drop(list.shift());
    put(state, 'H_diag', scale);
  }
  state.al ??= new Array(historySize).fill(null);
  const al = state.al as any as Record<number, Tensor>;
  const q = grad.neg() as Tensor;
  for (let i = changes.length - 1; i >= 0; i--) {
    put(al, i, mul(steps[i]!.dot(q) as Tensor, ro[i]!));
    q.add_(changes[i]!, { alpha: -numberIn(al[i]!) });
  }
  const r = mul(q, state.H_diag as Num) as Tensor;
  for (const [i, step] of steps.entries()) {
    const be = mul(changes[i]!.dot(r) as Tensor, ro[i]!);
    r.add_(step, { alpha: numberIn(sub(al[i]!, be) as Tensor) });
  }
  return r;
}

function share(value: unknown): void {
  if (isTensor(value)) shared.add(value);
  else if (Array.isArray(value)) for (const element of value) share(element);
  else if (typeof value === 'object' && value !== null) for (const element of Object.values(value)) share(element);
}

/** What is wrong with a state of `size` numbers per direction, as `expected …, got …`; null if nothing is. */
function wrongHistory(state: ParamState, size: number): string | null {
  const isFlat = (value: unknown) => isTensor(value) && (value.disposed || (value.ndim === 1 && value.numel === size));
  const areAll = (isFit: (value: unknown) => boolean) => (value: unknown) =>
    Array.isArray(value) && value.length === state.old_dirs?.length && value.every(isFit);
  const isNumber = (value: unknown) => typeof value === 'number';
  const isTensorOfOne = (value: unknown) => isTensor(value) && isScalar(value);
  const flat = `a Tensor of shape [${size}]`;
  const list = 'a list as long as old_dirs, of';
  const needs: [key: string, expected: string, isFit: (value: unknown) => boolean][] = [
    ['func_evals', 'a number', isNumber],
    ['n_iter', 'a number', isNumber],
  ];
  if (state.n_iter !== 0) {
    needs.push(
      ['d', flat, isFlat],
      ['t', 'a number or a Tensor of one element', isScalar],
      ['prev_flat_grad', flat, isFlat],
      ['old_dirs', `a list of Tensors of shape [${size}]`, areAll(isFlat)],
      ['old_stps', `${list} Tensors of shape [${size}]`, areAll(isFlat)],
      ['ro', `${list} Tensors of one element`, areAll(isTensorOfOne)],
      ['H_diag', 'a number or a Tensor of one element', isScalar],
    );
  }
  for (const [key, expected, isFit] of needs) {
    const value = state[key];
    if (value === undefined) return `expected '${key}', got keys ${Object.keys(state).join(', ')}`;
    if (isFit(value)) continue;
    const got = isTensor(value) ? `shape [${value.shape.join(', ')}]` : describe(value);
    return `${key}: expected ${expected}, got ${got}`;
  }
  return null;
}
