/** `torch.audit`: what a program can tell leak-audit about itself. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { argumentError } from '../errors';
import { native } from '../native';

/** What a label can say. It is recorded as text. */
export type LabelValue = string | number | bigint | boolean;

/** Longer texts are cut. */
const MAX_CHARACTERS = 200;
/** Different sets of labels in one environment; those beyond are recorded with `(other)` for each value. */
const MAX_SETS = 1000;

interface LabelSet {
  readonly values: Readonly<Record<string, string>>;
  /** The recorder's number of it. */
  readonly id: number;
}

const current = new AsyncLocalStorage<LabelSet | undefined>();
/** By what they say. */
const sets = new Map<string, LabelSet>();
let used = false;

/**
 * Labels the tensors that `fn` makes, also after its `await`s, in a capture of `leak-audit`: so that a report can tell
 * what each request route holds. Labels of other names that are in force stay. Without `fn`, the label is in force for
 * the rest of the running asynchronous context, for example of a request's handler. Costs next to nothing while no
 * audit runs.
 */
export function label<T>(name: string, value: LabelValue, fn: () => T): T;
export function label(name: string, value: LabelValue): void;
export function label<T>(name: string, value: LabelValue, fn?: () => T): T | undefined {
  if (typeof name !== 'string' || name === '')
    throw argumentError('audit.label', 'name', 'a string that says something', name);
  if (!['string', 'number', 'bigint', 'boolean'].includes(typeof value))
    throw argumentError('audit.label', 'value', 'a string, number, bigint or boolean', value);
  if (fn !== undefined && typeof fn !== 'function') throw argumentError('audit.label', 'fn', 'a function', fn);
  if (native.auditOn() === 0) return fn?.();
  const set = withLabel(name.slice(0, MAX_CHARACTERS), String(value).slice(0, MAX_CHARACTERS));
  used = true;
  if (fn !== undefined) return current.run(set, fn);
  current.enterWith(set);
  return undefined;
}

/** The recorder's number of the labels in force; 0: none. */
export function currentLabel(): number {
  return used ? (current.getStore()?.id ?? 0) : 0;
}

function withLabel(name: string, value: string): LabelSet {
  const values = { ...current.getStore()?.values, [name]: value };
  return (
    known(values) ?? known(Object.fromEntries(Object.keys(values).map((key) => [key, '(other)']))) ?? { values, id: 0 }
  );
}

/** The set of this content; undefined where there are too many to begin another. */
function known(values: Record<string, string>): LabelSet | undefined {
  const names = Object.keys(values).sort();
  const text = JSON.stringify(Object.fromEntries(names.map((name) => [name, values[name]])));
  let set = sets.get(text);
  if (set === undefined) {
    const isOther = names.every((name) => values[name] === '(other)');
    if (sets.size >= (isOther ? 2 * MAX_SETS : MAX_SETS)) return undefined;
    set = { values, id: native.auditDefineLabel(text) };
    sets.set(text, set);
  }
  return set;
}
