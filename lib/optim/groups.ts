/** Reads the parameters of an optimizer: tensors, [name, tensor] pairs, or groups of them with options of their own. */
import { isOptions, unknownOption } from '../addon/options';
import { inGradMode } from '../autograd/mode';
import { warn } from '../call/warnings';
import { argumentError, refusal } from '../errors/errors';
import { didYouMean } from '../errors/suggest';
import { isMarked, isTensor, requireLive, type Tensor } from '../tensor/tensor';
import { checkKinds } from './checks';
import { takesNames } from './release';
import { owned } from './state-dict';

/** One parameter; from libtorch 2.6 on also with its name, as `namedParameters()` gives it. */
export type Parameter = Tensor | readonly [name: string, parameter: Tensor];

/** Parameters with options that differ from the optimizer's. */
export type GivenGroup<O> = { params: Tensor | Iterable<Parameter> } & Partial<O> & { [more: string]: unknown };

/** What an optimizer takes: any iterable of parameters, or of groups. */
export type Params<O> = Iterable<Parameter> | Iterable<GivenGroup<O>>;
/** The arguments of a built-in optimizer. */
export type Arguments<O> = [params: Params<O>, options?: O];

/** Options of which every one has a value. `Required` would leave `undefined` with exactOptionalPropertyTypes. */
export type Filled<O> = { [K in keyof O]-?: Exclude<O[K], undefined> };

/**
 * A group as the optimizer keeps it: every option has a value. The learning rate has the type of a number, so that a program
 * can compute with it; only if a tensor was given, it is that tensor.
 */
export type ParamGroup<O> = { params: Tensor[] } & Filled<
  O extends { lr?: unknown } ? Omit<O, 'lr'> & { lr: number } : O
> & {
    [more: string]: any;
  };

/** The group that `begin` and `update` get. Where an optimizer is any one, its class may have declared any options. */
export type OwnGroup<O> = string extends keyof O ? any : ParamGroup<O>;

/** The learning rate of a group as a number. */
export const rateIn = ({ lr }: { lr?: unknown }): number => (isTensor(lr) ? (lr.item() as number) : (lr as number));

/** Sets the learning rate of a group: the number, or the value of its tensor. */
export function setRate(group: Record<string, any>, value: number): void {
  if (isTensor(group.lr)) inGradMode(false, () => group.lr.fill_(value));
  else group.lr = value;
}

const isIterable = (value: unknown): value is Iterable<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as Iterable<unknown>)[Symbol.iterator] === 'function';

const isGroup = (value: unknown): value is GivenGroup<object> =>
  isOptions(value) && !isTensor(value) && !isMarked(value);

/** The groups of the constructor's first argument. */
export function groupsOf<O>(fn: string, params: unknown): GivenGroup<O>[] {
  const expected = 'an iterable of Tensors or of groups';
  if (isTensor(params) || !isIterable(params)) throw argumentError(fn, 'params', expected, params);
  const list = [...params];
  if (list.length === 0) throw refusal(fn, 'params', `${expected} with one element or more`, 'an empty one');
  if (!isGroup(list[0])) return [{ params: list } as unknown as GivenGroup<O>];
  const wrong = list.findIndex((group) => !isGroup(group));
  if (wrong >= 0) throw argumentError(fn, `params[${wrong}]`, 'a group, as the first element is', list[wrong]);
  return list as GivenGroup<O>[];
}

interface Named {
  readonly params: Tensor[];
  readonly names: string[];
}

function parametersOf(fn: string, given: unknown): Named {
  if (isTensor(given)) return { params: [given], names: [] };
  if (!isIterable(given)) throw argumentError(fn, 'params', 'a Tensor or an iterable of Tensors', given);
  const read: Named = { params: [], names: [] };
  const list = [...given];
  for (const [i, value] of list.entries()) {
    const isNamed = takesNames && Array.isArray(value) && typeof value[0] === 'string' && value.length === 2;
    const parameter: unknown = isNamed ? value[1] : value;
    if (!isTensor(parameter)) {
      const expected = takesNames ? 'a Tensor or [name, Tensor]' : 'a Tensor';
      throw argumentError(fn, `params[${i}]`, expected, value);
    }
    if (isNamed) read.names.push(value[0]);
    read.params.push(parameter);
  }
  if (read.names.length > 0 && read.names.length < list.length) {
    throw refusal(fn, 'params', 'a name for all parameters or for none', `${read.names.length} of ${list.length}`);
  }
  return read;
}

/** Completes a group with the optimizer's options, and checks it. */
export function completed<O extends object>(
  fn: string,
  given: GivenGroup<O>,
  known: Readonly<Record<string, unknown>>,
  taken: readonly Tensor[],
): ParamGroup<O> {
  if (!isGroup(given)) throw argumentError(fn, 'group', 'an object with params', given);
  const { params: parameters, ...own } = { ...given } as { params: unknown } & Record<string, unknown>;
  const { params, names } = parametersOf(fn, parameters);
  for (const [i, parameter] of params.entries()) {
    requireLive(fn, `params[${i}]`, parameter);
    if (known.differentiable === true || parameter.isLeaf || parameter.retainsGrad) continue;
    throw refusal(fn, `params[${i}]`, 'a leaf of the graph', `the result of ${parameter.gradFn}`);
  }
  for (const name of Object.keys(own)) {
    if (name in known) continue;
    const names = Object.keys(known);
    if (didYouMean(name, names) !== '') throw unknownOption(fn, 'group', name, names);
  }
  const group: Record<string, unknown> = { params, ...own };
  for (const [name, value] of Object.entries(known)) {
    if (group[name] !== undefined) continue;
    if (value === undefined) throw argumentError(fn, name, 'a value, since this release has no default', value);
    group[name] = Array.isArray(value) ? [...value] : value;
  }
  if (names.length > 0) group.paramNames = names;
  checkKinds(fn, group, 'lr' in known ? { ...known, lr: isTensor(known.lr) ? 0 : known.lr } : known);
  if (isTensor(group.lr)) owned(group.lr);
  if (new Set(params).size < params.length) {
    warn(`${fn}: a group contains a parameter twice, which takes part in a step as often`);
  }
  const before = new Set(taken);
  const twice = params.findIndex((parameter) => before.has(parameter));
  if (twice >= 0) throw refusal(fn, `params[${twice}]`, 'a parameter of one group', 'one that an earlier group has');
  return group as ParamGroup<O>;
}

/** A program may change the groups at any time: refuses what is not a group of tensors, before a step changes one of them. */
export function demandGroups(fn: string, groups: unknown): void {
  if (!Array.isArray(groups)) throw argumentError(fn, 'paramGroups', 'a list of groups', groups);
  for (let i = 0; i < groups.length; i++) {
    const params: unknown = (groups[i] as { params?: unknown } | null | undefined)?.params;
    if (!Array.isArray(params)) {
      throw argumentError(fn, `paramGroups[${i}]`, 'an object with a list params', groups[i]);
    }
    const wrong = params.findIndex((parameter) => !isTensor(parameter));
    if (wrong >= 0) throw argumentError(fn, `paramGroups[${i}].params[${wrong}]`, 'a Tensor', params[wrong]);
  }
}
