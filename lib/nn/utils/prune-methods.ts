/** Methods of pruning: which values of a tensor become zero. Python's torch/nn/utils/prune.py. */

import { inGradMode } from '../../autograd/mode';
import { upTo } from '../../errors/arity';
import { argumentError } from '../../errors/errors';
import { ownScope } from '../../lifetimes/scope';
import { isTensor, type Tensor } from '../../tensor/tensor';
import { Module } from '../module';
import { aten, norm } from '../ops';
import { setData } from '../parameter';
import {
  addBuffer,
  addParameter,
  attach,
  demandParameter,
  detach,
  type Method,
  part,
  propertiesOf,
  taken,
} from './computed';

export const at = (fn: string) => `nn.utils.prune.${fn}`;

const like = (mask: Tensor, tensor: Tensor): Tensor =>
  mask.dtype === tensor.dtype ? mask : (mask.to(tensor.dtype as never) as Tensor);

/** What a method's masks depend on: single values, or a whole dimension; 'global' masks are given. */
export type PruningType = 'unstructured' | 'structured' | 'global';

type MethodClass<A extends unknown[]> = new (...args: A) => BasePruningMethod;

/** Python rounds halves to the even number. */
function rounded(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  if (rest !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}

function demandAmount(fn: string, amount: unknown): asserts amount is number {
  const fits = typeof amount === 'number' && amount >= 0 && (amount < 1 || Number.isInteger(amount));
  if (!fits) throw argumentError(at(fn), 'amount', 'a share from 0 to 1 or a number of values', amount);
}

function demandDim(fn: string, dim: unknown): void {
  if (!Number.isInteger(dim)) throw argumentError(at(fn), 'dim', 'an integer', dim);
}

/** Which norm of a channel is its importance. */
export type Norm = number | 'fro' | 'nuc';
export const NORM = "a number, 'fro' or 'nuc'";
export const isNorm = (value: unknown): value is Norm =>
  typeof value === 'number' || value === 'fro' || value === 'nuc';

/** The number of values or channels to prune. An integer is a number of them, a fraction a share. */
function countOf(fn: string, amount: number, all: number): number {
  if (!Number.isInteger(amount)) return rounded(amount * all);
  if (amount > all) throw argumentError(at(fn), 'amount', `at most ${all}, the number there is`, amount);
  return amount;
}

function demandTensor(fn: string, name: string, value: unknown): void {
  if (!isTensor(value)) throw argumentError(at(fn), name, 'a Tensor', value);
}

/** The arguments of `computeMask`. */
function demandTensors(fn: string, t: unknown, defaultMask: unknown): void {
  demandTensor(`${fn}.computeMask`, 't', t);
  demandTensor(`${fn}.computeMask`, 'defaultMask', defaultMask);
}

/** The base class of pruning methods: computes masks, and applies them to a tensor of a module before each forward. */
export abstract class BasePruningMethod implements Method {
  abstract readonly pruningType: PruningType;

  /** The mask for values of this importance, without what `defaultMask` has pruned already. */
  abstract computeMask(t: Tensor, defaultMask: Tensor): Tensor;

  /** @internal */
  compute(module: Module, name: string): Tensor {
    return this.applyMask(module, name);
  }

  /** The module's tensor without what is pruned. */
  applyMask(module: Module, name: string): Tensor {
    const orig = propertiesOf(module)[part(name, 'orig')]!;
    return like(propertiesOf(module)[part(name, 'mask')]!, orig).mul(orig) as Tensor;
  }

  /** Prunes a tensor that belongs to no module. */
  prune(t: Tensor, defaultMask: Tensor | null = null, importanceScores: Tensor | null = null): Tensor {
    const fn = `${this.constructor.name}.prune`;
    demandTensor(fn, 't', t);
    if (defaultMask !== null) demandTensor(fn, 'defaultMask', defaultMask);
    demandScores(fn, t, importanceScores);
    return ownScope(
      () => t.mul(this.computeMask(importanceScores ?? t, defaultMask ?? (aten.onesLike(t) as Tensor))) as Tensor,
      false,
    );
  }

  /** Prunes a parameter of a module, with a new method of this class. */
  static apply<A extends unknown[]>(this: MethodClass<A>, module: Module, name: string, ...args: A): BasePruningMethod {
    return applied(new this(...args), module, name, null);
  }
}

function demandScores(fn: string, t: Tensor, scores: unknown): void {
  if (scores === null || scores === undefined) return;
  if (isTensor(scores) && scores.shape.join() === (t.shape as number[]).join()) return;
  throw argumentError(at(fn), 'importanceScores', `a Tensor of shape [${t.shape.join(', ')}]`, scores);
}

/** Methods that were applied to one tensor, one after the other. */
export class PruningContainer extends BasePruningMethod {
  readonly pruningType: PruningType = 'unstructured';
  readonly methods: readonly BasePruningMethod[];

  constructor(...methods: BasePruningMethod[]) {
    super();
    const wrong = methods.find((method) => !(method instanceof BasePruningMethod));
    if (wrong !== undefined) throw argumentError(at('PruningContainer'), 'methods', 'pruning methods', wrong);
    this.methods = methods;
  }

  get length(): number {
    return this.methods.length;
  }

  [Symbol.iterator](): IterableIterator<BasePruningMethod> {
    return this.methods[Symbol.iterator]();
  }

  /** The mask of the last method, for what is not pruned yet. */
  computeMask(t: Tensor, mask: Tensor): Tensor {
    const method = this.methods.at(-1)!;
    // Without a copy, the mask would be changed in place.
    const result = like(mask, t).clone() as Tensor;
    if (method.pruningType === 'global') return like(method.computeMask(t, mask), t);
    if (method.pruningType === 'unstructured') {
      const kept = mask.eq(1) as Tensor;
      const partial = method.computeMask(aten.index(t, [kept]), aten.index(mask, [kept]));
      return aten.indexPut_(result, [kept], like(partial, result));
    }
    const { dim } = method as unknown as { dim: number };
    const place = dim < 0 ? dim + t.ndim : dim;
    if (!(place >= 0 && place < t.ndim)) {
      throw argumentError(at('PruningContainer'), 'dim', `a dimension of a Tensor of ${t.ndim}`, dim);
    }
    const others = t.shape.map((_, i) => i).filter((i) => i !== place);
    const kept = (mask.sum(others) as Tensor).ne(0) as Tensor;
    const slices = t.shape.map((_, i) => (i === place ? kept : null));
    const partial = method.computeMask(aten.index(t, slices), aten.index(mask, slices));
    return aten.indexPut_(result, slices, like(partial, result));
  }
}

/** The method of a pruned tensor, or null. */
export function methodOf(module: Module, name: string): BasePruningMethod | null {
  const method = module._state.computed.get(name)?.method;
  return method instanceof BasePruningMethod ? method : null;
}

/** Applies a method to a parameter that may be pruned already. */
export function applied(
  added: BasePruningMethod,
  module: Module,
  name: string,
  importanceScores: Tensor | null,
): BasePruningMethod {
  const fn = 'BasePruningMethod.apply';
  if (!(module instanceof Module)) throw argumentError(at(fn), 'module', 'a Module', module);
  if (typeof name !== 'string') throw argumentError(at(fn), 'name', 'a string', name);
  const before = methodOf(module, name);
  const current = before === null ? demandParameter('prune', module, name) : propertiesOf(module)[name]!;
  demandScores(fn, current, importanceScores);
  const earlier = before === null ? [] : before instanceof PruningContainer ? before.methods : [before];
  const method = before === null ? added : new PruningContainer(...earlier, added);
  ownScope(() => {
    const mask = inGradMode(false, () => {
      const plain = (importanceScores ?? current).detach() as Tensor;
      const start = before === null ? aten.onesLike(plain) : propertiesOf(module)[part(name, 'mask')]!.clone();
      return method.computeMask(plain, start as Tensor);
    });
    if (before === null) {
      taken(module, name);
      addParameter(module, name, 'orig', current as never);
      addBuffer(module, name, 'mask', mask);
    } else {
      detach(module, name);
      propertiesOf(module)[part(name, 'mask')] = mask;
    }
    attach(module, name, method, method.applyMask(module, name));
  }, false);
  return method;
}

/** Makes the pruned values those of the parameter. */
export function unpruned(module: Module, name: string, method: BasePruningMethod): void {
  ownScope(() => {
    const values = inGradMode(false, () => method.applyMask(module, name));
    detach(module, name);
    const orig = taken(module, part(name, 'orig'))!;
    taken(module, part(name, 'mask'));
    inGradMode(false, () => setData(orig, values));
    propertiesOf(module)[name] = orig;
  }, false);
}

/** Prunes nothing. */
export class Identity extends BasePruningMethod {
  readonly pruningType = 'unstructured';

  computeMask(t: Tensor, defaultMask: Tensor): Tensor {
    demandTensors('Identity', t, defaultMask);
    return defaultMask;
  }
}

/** Sets the chosen values of a copy of the mask to zero. */
function without(mask: Tensor, chosen: Tensor): Tensor {
  const copy = mask.contiguous().clone() as Tensor;
  copy.view(-1).indexFill_(0, chosen, 0);
  return copy;
}

/** Prunes single values at random. */
export class RandomUnstructured extends BasePruningMethod {
  readonly pruningType = 'unstructured';

  readonly amount: number;

  constructor(amount: number);
  constructor(...passed: [amount: number]) {
    super();
    const [amount] = upTo(at('RandomUnstructured'), 1, passed);
    this.amount = amount;
    demandAmount('RandomUnstructured', amount);
  }

  computeMask(t: Tensor, defaultMask: Tensor): Tensor {
    demandTensors('RandomUnstructured', t, defaultMask);
    const count = countOf('RandomUnstructured', this.amount, t.numel);
    if (count === 0) return defaultMask.clone() as Tensor;
    const [, chosen] = (aten.randLike(t) as Tensor).reshape(-1).topk(count) as unknown as [Tensor, Tensor];
    return without(defaultMask, chosen);
  }
}

/** Prunes the smallest values. */
export class L1Unstructured extends BasePruningMethod {
  readonly pruningType = 'unstructured';

  readonly amount: number;

  constructor(amount: number);
  constructor(...passed: [amount: number]) {
    super();
    const [amount] = upTo(at('L1Unstructured'), 1, passed);
    this.amount = amount;
    demandAmount('L1Unstructured', amount);
  }

  computeMask(t: Tensor, defaultMask: Tensor): Tensor {
    demandTensors('L1Unstructured', t, defaultMask);
    const count = countOf('L1Unstructured', this.amount, t.numel);
    if (count === 0) return defaultMask.clone() as Tensor;
    const sizes = t.abs().reshape(-1);
    const [, chosen] = sizes.topk(count, { largest: false }) as unknown as [Tensor, Tensor];
    return without(defaultMask, chosen);
  }
}

/** The size of the dimension to prune. */
function channelsOf(fn: string, t: Tensor, dim: number): number {
  if (t.ndim < 2) throw argumentError(at(fn), 'tensor', 'a Tensor of 2 or more dimensions', t);
  const size = t.shape.at(dim);
  if (!Number.isInteger(dim) || dim >= t.ndim || size === undefined) {
    throw argumentError(at(fn), 'dim', `a dimension from ${-t.ndim} to ${t.ndim - 1}`, dim);
  }
  return size;
}

/** Keeps the channels of a dimension at these places. */
function keeping(t: Tensor, dim: number, places: Tensor, defaultMask: Tensor): Tensor {
  const mask = aten.zerosLike(t) as Tensor;
  mask.indexFill_(dim, places, 1);
  return mask.mul_(like(defaultMask, mask)) as Tensor;
}

/** Prunes channels at random. */
export class RandomStructured extends BasePruningMethod {
  readonly pruningType = 'structured';

  readonly amount: number;
  readonly dim: number;

  constructor(amount: number, dim?: number);
  constructor(...passed: [amount: number, dim?: number]) {
    super();
    const [amount, dim = -1] = upTo(at('RandomStructured'), 2, passed);
    this.amount = amount;
    this.dim = dim;
    demandAmount('RandomStructured', amount);
    demandDim('RandomStructured', dim);
  }

  computeMask(t: Tensor, defaultMask: Tensor): Tensor {
    demandTensors('RandomStructured', t, defaultMask);
    const all = channelsOf('RandomStructured', t, this.dim);
    const count = countOf('RandomStructured', this.amount, all);
    if (count === 0) return defaultMask;
    const chances = aten.rand([all]) as Tensor;
    const [threshold] = chances.kthvalue(count) as unknown as [Tensor];
    return keeping(t, this.dim, (chances.gt(threshold) as Tensor).nonzero().reshape(-1) as Tensor, defaultMask);
  }
}

/** Prunes the channels with the smallest norms. */
export class LnStructured extends BasePruningMethod {
  readonly pruningType = 'structured';

  readonly amount: number;
  readonly n: Norm;
  readonly dim: number;

  constructor(amount: number, n: Norm, dim?: number);
  constructor(...passed: [amount: number, n: Norm, dim?: number]) {
    super();
    const [amount, n, dim = -1] = upTo(at('LnStructured'), 3, passed);
    this.amount = amount;
    this.n = n;
    this.dim = dim;
    demandAmount('LnStructured', amount);
    demandDim('LnStructured', dim);
    if (!isNorm(n)) throw argumentError(at('LnStructured'), 'n', NORM, n);
  }

  computeMask(t: Tensor, defaultMask: Tensor): Tensor {
    demandTensors('LnStructured', t, defaultMask);
    const all = channelsOf('LnStructured', t, this.dim);
    const count = countOf('LnStructured', this.amount, all);
    const place = this.dim < 0 ? this.dim + t.ndim : this.dim;
    const others = t.shape.map((_, i) => i).filter((i) => i !== place);
    const norms: Tensor = norm(t, this.n, others);
    const [, places] = norms.topk(all - count, { largest: true }) as unknown as [Tensor, Tensor];
    return count === 0 ? defaultMask : keeping(t, this.dim, places, defaultMask);
  }
}

/** Prunes where a mask is zero. */
export class CustomFromMask extends BasePruningMethod {
  readonly pruningType = 'global';

  readonly mask: Tensor;

  constructor(mask: Tensor);
  constructor(...passed: [mask: Tensor]) {
    super();
    const [mask] = upTo(at('CustomFromMask'), 1, passed);
    this.mask = mask;
    if (!isTensor(mask)) throw argumentError(at('CustomFromMask'), 'mask', 'a Tensor', mask);
  }

  computeMask(t: Tensor, defaultMask: Tensor): Tensor {
    demandTensors('CustomFromMask', t, defaultMask);
    if (this.mask.shape.join() !== (defaultMask.shape as number[]).join()) {
      const expected = `a Tensor of shape [${defaultMask.shape.join(', ')}]`;
      throw argumentError(at('CustomFromMask'), 'mask', expected, this.mask);
    }
    return defaultMask.mul(like(this.mask, defaultMask)) as Tensor;
  }
}
