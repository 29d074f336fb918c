/** `torch.audit.label`: labels for tensors in a capture and in profiles of `libtorch-node/pprof`. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { native } from '../../addon/native';
import type { Labels } from '../../addon/recorder';
import { argumentError } from '../../errors/errors';
import { knownRank } from '../rank';
import { wantsLabels } from '../watch';

/** The value of a label. It is recorded as text. */
export type LabelValue = string | number | bigint | boolean;

/** Longer names and values are truncated. */
const MAX_CHARACTERS = 200;
/** The most label sets per environment; further ones are recorded with `(other)` for each value. */
const MAX_SETS = 1000;

interface LabelSet {
  readonly values: Labels;
  /** Its number in the recorder. */
  readonly id: number;
}

const current = new AsyncLocalStorage<LabelSet | undefined>();
/** By their JSON text. */
const sets = new Map<string, LabelSet>();
const byId = new Map<number, Labels>();
let used = false;

/** The rank of the process in a group, which every tensor is labelled with. Undefined: it has none yet. */
let ofRank: LabelSet | null | undefined;

function rankSet(): LabelSet | null {
  if (ofRank !== undefined) return ofRank;
  const rank = knownRank();
  if (rank === null) return null;
  ofRank = known({ rank }) ?? null;
  return ofRank;
}

/**
 * Labels the tensors that `fn` makes, also after an `await`, in a capture of `leak-audit` and in profiles of
 * `libtorch-node/pprof`, so that they can show, for example, what each request route holds. Active labels of other names
 * stay active. Without `fn`, the label is active for the rest of the current asynchronous context, for example a request's
 * handler. Costs almost nothing while neither runs.
 */
export function label<T>(name: string, value: LabelValue, fn: () => T): T;
export function label(name: string, value: LabelValue): void;
export function label<T>(name: string, value: LabelValue, fn?: () => T): T | undefined {
  if (typeof name !== 'string' || name === '') throw argumentError('audit.label', 'name', 'a non-empty string', name);
  if (!['string', 'number', 'bigint', 'boolean'].includes(typeof value))
    throw argumentError('audit.label', 'value', 'a string, number, bigint or boolean', value);
  if (fn !== undefined && typeof fn !== 'function') throw argumentError('audit.label', 'fn', 'a function', fn);
  if (native.auditDepth() === 0 && !wantsLabels(native)) return fn?.();
  const set = withLabel(name.slice(0, MAX_CHARACTERS), String(value).slice(0, MAX_CHARACTERS));
  used = true;
  if (fn !== undefined) return current.run(set, fn);
  current.enterWith(set);
  return undefined;
}

/** The recorder's number of the active labels; 0: none. */
export function currentLabel(): number {
  const own = used ? current.getStore() : undefined;
  return (own ?? rankSet())?.id ?? 0;
}

/** The labels of that number; undefined for none. The same object each time. */
export const labelsOf = (id: number): Labels | undefined => (id === 0 ? undefined : byId.get(id));

function withLabel(name: string, value: string): LabelSet {
  const values = { ...(current.getStore() ?? rankSet())?.values, [name]: value };
  return (
    known(values) ?? known(Object.fromEntries(Object.keys(values).map((key) => [key, '(other)']))) ?? { values, id: 0 }
  );
}

/** The set with these values; undefined if there are too many to add another. */
function known(values: Record<string, string>): LabelSet | undefined {
  const names = Object.keys(values).sort();
  const text = JSON.stringify(Object.fromEntries(names.map((name) => [name, values[name]])));
  let set = sets.get(text);
  if (set === undefined) {
    const isOther = names.every((name) => values[name] === '(other)');
    if (sets.size >= (isOther ? 2 * MAX_SETS : MAX_SETS)) return undefined;
    set = { values, id: native.auditDefineLabel(text) };
    sets.set(text, set);
    byId.set(set.id, set.values);
  }
  return set;
}
