/** torch.nn.utils.prune. */
import { byName } from '../../addon/options';
import { argumentError } from '../../errors/errors';
import { ownScope } from '../../lifetimes/scope';
import { isTensor, type Tensor } from '../../tensor/tensor';
import { type Args, int, kind, num, read, tensor, text } from '../arguments';
import { Module } from '../module';
import { aten } from '../ops';
import { part, propertiesOf } from './computed';
import { parametersToVector } from './gradients';
import { aModule, aTensor } from './kinds';
import {
  applied,
  at,
  BasePruningMethod,
  CustomFromMask,
  Identity,
  isNorm,
  L1Unstructured,
  LnStructured,
  methodOf,
  NORM,
  type Norm,
  PruningContainer,
  RandomStructured,
  RandomUnstructured,
  unpruned,
} from './prune-methods';

export {
  BasePruningMethod,
  CustomFromMask,
  Identity,
  L1Unstructured,
  LnStructured,
  PruningContainer,
  type PruningType,
  RandomStructured,
  RandomUnstructured,
} from './prune-methods';

const which = { module: aModule, name: text() };

/** Makes a parameter computed from `…Orig` and the mask `…Mask`, without pruning anything. */
export function identity<M extends Module>(...passed: Args<[module: M, name: string], typeof which>): M {
  const { module, name } = read('utils.prune.identity', which, passed);
  applied(new Identity(), module, name, null);
  return module as M;
}

const some = { ...which, amount: num() };

/** Prunes single values at random: `amount` is a share below 1, or their number. */
export function randomUnstructured<M extends Module>(
  ...passed: Args<[module: M, name: string, amount: number], typeof some>
): M {
  const { module, name, amount } = read('utils.prune.randomUnstructured', some, passed);
  applied(new RandomUnstructured(amount), module, name, null);
  return module as M;
}

const smallest = { ...some, importanceScores: tensor };

/** Prunes the values of the smallest magnitude, or of the smallest `importanceScores`. */
export function l1Unstructured<M extends Module>(
  ...passed: Args<[module: M, name: string, amount: number, importanceScores?: Tensor | null], typeof smallest>
): M {
  const { module, name, amount, importanceScores } = read('utils.prune.l1Unstructured', smallest, passed);
  applied(new L1Unstructured(amount), module, name, importanceScores);
  return module as M;
}

const channels = { ...some, dim: int() };

/** Prunes channels of a dimension at random. */
export function randomStructured<M extends Module>(
  ...passed: Args<[module: M, name: string, amount: number, dim: number], typeof channels>
): M {
  const { module, name, amount, dim } = read('utils.prune.randomStructured', channels, passed);
  applied(new RandomStructured(amount, dim), module, name, null);
  return module as M;
}

const norms = {
  ...some,
  n: kind<Norm>(NORM, undefined, (value) => (isNorm(value) ? value : undefined), String),
  dim: int(),
  importanceScores: tensor,
};

/** Prunes the channels of a dimension that have the smallest norms `n`. */
export function lnStructured<M extends Module>(
  ...passed: Args<
    [module: M, name: string, amount: number, n: Norm, dim: number, importanceScores?: Tensor | null],
    typeof norms
  >
): M {
  const { module, name, amount, n, dim, importanceScores } = read('utils.prune.lnStructured', norms, passed);
  applied(new LnStructured(amount, n, dim), module, name, importanceScores);
  return module as M;
}

const custom = { ...which, mask: aTensor };

/** Prunes where a mask is zero. */
export function customFromMask<M extends Module>(
  ...passed: Args<[module: M, name: string, mask: Tensor], typeof custom>
): M {
  const { module, name, mask } = read('utils.prune.customFromMask', custom, passed);
  applied(new CustomFromMask(mask), module, name, null);
  return module as M;
}

/** A parameter of a module. */
export type Place = readonly [module: Module, name: string];

export interface GlobalOptions {
  /** A share below 1, or the number of values. */
  amount: number;
  /** The importance of the values of each parameter, in their order; null for the values themselves. */
  importanceScores?: readonly (Tensor | null)[] | null | undefined;
}

type PruningMethod = new (amount: number) => BasePruningMethod;

interface GlobalArguments extends GlobalOptions {
  parameters: Iterable<Place>;
  pruningMethod: PruningMethod;
}

/** Prunes the values of several parameters as those of one tensor, by `pruningMethod`. */
export function globalUnstructured(
  parameters: Iterable<Place>,
  pruningMethod: PruningMethod,
  options: GlobalOptions,
): void;
export function globalUnstructured(
  parameters: Iterable<Place>,
  options: GlobalOptions & { pruningMethod: PruningMethod },
): void;
export function globalUnstructured(...passed: unknown[]): void {
  const fn = at('globalUnstructured');
  const given = byName(fn, ['parameters', 'pruningMethod', 'importanceScores', 'amount'], 1, passed);
  const { parameters, pruningMethod, ...options } = given as unknown as GlobalArguments;
  // A method of the program extends BasePruningMethod; an arrow function has no prototype.
  if (typeof pruningMethod !== 'function' || !(pruningMethod.prototype instanceof BasePruningMethod)) {
    throw argumentError(fn, 'pruningMethod', 'a class of torch.nn.utils.prune', pruningMethod);
  }
  const places = typeof parameters?.[Symbol.iterator] === 'function' ? [...parameters] : [];
  const isPlace = (place: unknown) =>
    Array.isArray(place) && place[0] instanceof Module && isTensor(propertiesOf(place[0])[place[1]]);
  if (places.length === 0 || !places.every(isPlace)) {
    throw argumentError(fn, 'parameters', 'a list of [module, name of a parameter]', parameters);
  }
  const { amount, importanceScores } = options;
  const scores = importanceScores ?? places.map(() => null);
  if (!Array.isArray(scores) || scores.length !== places.length) {
    throw argumentError(fn, 'importanceScores', `a list of ${places.length}, one for each parameter`, scores);
  }
  const method = new pruningMethod(amount);
  if (method.pruningType !== 'unstructured') {
    throw argumentError(fn, 'pruningMethod', "a method with the pruningType 'unstructured'", pruningMethod.name);
  }
  ownScope(() => {
    const values = places.map(([module, name]) => propertiesOf(module)[name]!.detach() as Tensor);
    const flatScores = parametersToVector(values.map((value, i) => scores[i] ?? value));
    const masks = places.map(([module, name], i) => {
      const mask = propertiesOf(module)[part(name, 'mask')];
      return isTensor(mask) ? mask : (aten.onesLike(values[i]) as Tensor);
    });
    const all = new PruningContainer(method).computeMask(flatScores, parametersToVector(masks));
    let start = 0;
    for (const [i, [module, name]] of places.entries()) {
      const end = start + values[i]!.numel;
      const mask = all.slice(0, start, end).viewAs(values[i]!) as Tensor;
      // The method keeps its mask.
      customFromMask(module, name, mask.clone() as Tensor);
      start = end;
    }
  }, false);
}

/** Makes the pruned values those of the parameter, and stops pruning it. */
export function remove<M extends Module>(...passed: Args<[module: M, name: string], typeof which>): M {
  const { module, name } = read('utils.prune.remove', which, passed);
  const method = methodOf(module, name);
  if (method === null) {
    throw argumentError(at('remove'), 'name', `a pruned parameter of ${module.constructor.name}`, name);
  }
  unpruned(module, name, method);
  return module as M;
}

/** Whether a parameter of the module or of those in it is pruned. */
export function isPruned(module: Module): boolean {
  if (!(module instanceof Module)) throw argumentError(at('isPruned'), 'module', 'a Module', module);
  return module
    .modules()
    .some((inner) => [...inner._state.computed.keys()].some((name) => methodOf(inner, name) !== null));
}
