/**
 * The state of an optimizer in Python's form, `{ state, param_groups }` with names in snake case. PyTorch and libtorch-node can
 * load it.
 */
import { argumentError, refusal } from '../errors/errors';
import { ownScope } from '../lifetimes/scope';
import { guard, isTensor, type Tensor } from '../tensor/tensor';
import type { ParamGroup } from './groups';

/** The state of one parameter, under Python's names: `exp_avg`, `step`. */
export type ParamState = Record<string, any>;

/** Python's form. `state` has the number of a parameter as its key: its place among all parameters, group by group. */
export interface OptimizerStateDict {
  state: Map<number, ParamState>;
  param_groups: ({ params: number[] } & Record<string, unknown>)[];
}

/** `weightDecay` -> `weight_decay` */
export const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
/** `weight_decay` -> `weightDecay` */
export const camelCase = (name: string): string =>
  name.replace(/(?<=.)_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Takes a new tensor from the current scope: the collector owns it, so it lives as long as the object that refers to it. */
export function owned(tensor: Tensor): Tensor {
  guard(tensor);
  return tensor;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
const entriesOf = (value: object): [unknown, unknown][] => (value instanceof Map ? [...value] : Object.entries(value));

/** Copies arrays, so that changes to the state dict do not reach the optimizer. */
export const copied = (value: unknown): unknown => (Array.isArray(value) ? value.map(copied) : value);

export function packed<O>(
  groups: readonly ParamGroup<O>[],
  state: ReadonlyMap<Tensor, ParamState>,
): OptimizerStateDict {
  const numbers = new Map<Tensor, number>();
  let start = 0;
  const packedGroups = groups.map((group) => {
    const { params, ...options } = group as { params: Tensor[] } & Record<string, unknown>;
    for (const [i, parameter] of params.entries()) {
      if (!numbers.has(parameter)) numbers.set(parameter, start + i);
    }
    start += params.length;
    const named = Object.entries(options).map(([name, value]) => [snakeCase(name), copied(value)]);
    return { ...Object.fromEntries(named), params: params.map((parameter) => numbers.get(parameter)!) };
  });
  const packedState = new Map<number, ParamState>();
  for (const [parameter, values] of state) {
    const number = numbers.get(parameter);
    if (number !== undefined) packedState.set(number, { ...values });
  }
  return { state: packedState, param_groups: packedGroups };
}

interface Read {
  readonly groups: Record<string, unknown>[];
  /** The state's entries, by the number that `params` of the groups use. */
  readonly state: [unknown, unknown][];
}

/**
 * Checks the form and the sizes. torch.load turns a Python dict into an object, or into a Map if it has keys that are not
 * strings.
 */
export function read(fn: string, dict: unknown, groups: readonly { params: readonly Tensor[] }[]): Read {
  const expected = "an object with 'state' and 'param_groups', as stateDict() gives it";
  if (!isObject(dict)) throw argumentError(fn, 'stateDict', expected, dict);
  const members = new Map(entriesOf(dict));
  const state = members.get('state');
  const saved = members.get('param_groups');
  if (!isObject(state) || !Array.isArray(saved) || !saved.every(isObject)) {
    throw argumentError(fn, 'stateDict', expected, dict);
  }
  if (saved.length !== groups.length) {
    const wanted = `as many parameter groups as the optimizer has (${groups.length})`;
    throw refusal(fn, 'stateDict', wanted, String(saved.length));
  }
  const savedGroups = saved.map((group) => Object.fromEntries(entriesOf(group)) as Record<string, unknown>);
  for (const [i, { params }] of savedGroups.entries()) {
    const count = groups[i]!.params.length;
    const place = `stateDict.param_groups[${i}]`;
    if (!Array.isArray(params)) throw argumentError(fn, `${place}.params`, 'a list of numbers', params);
    if (params.length !== count) {
      throw refusal(fn, place, `as many parameters as the optimizer's group has (${count})`, String(params.length));
    }
  }
  return { groups: savedGroups, state: entriesOf(state) };
}

/** A copy with the dtype and the device of its parameter, as Python casts it. */
export function cast(parameter: Tensor, value: unknown, key?: string): unknown {
  if (isTensor(value)) {
    return ownScope(() => {
      const plain = value.detach() as Tensor;
      if (key === 'step') return owned(plain.clone() as Tensor);
      const there = (plain.device === parameter.device ? plain : plain.to(parameter.device)) as Tensor;
      const isSame = !parameter.isFloatingPoint() || there.dtype === parameter.dtype;
      return owned((isSame ? there.clone() : there.to(parameter.dtype)) as Tensor);
    });
  }
  if (Array.isArray(value)) return value.map((element) => cast(parameter, element));
  if (!isObject(value)) return value;
  const all = entriesOf(value).map(
    ([name, element]) => [String(name), cast(parameter, element, String(name))] as const,
  );
  return Object.fromEntries(all);
}
