/** Facts that a thread sends with its heap (lib/observe/audit/heap.ts): its tensors by handle, their sites and owners. */

import { amount, list, Names, object, whole } from '../capture/fields';
import { Budget } from '../capture/limits';
import type { Frame } from '../capture/records';
import { InvalidData } from '../errors/errors';

/** Columns of a row: handle, bytes, site, scope. */
export const COLUMNS = 4;
const MAX_TENSORS = 50_000_000;
const MAX_SITES = 262_144;

export interface Facts {
  pid: number;
  /** 0 for the main thread. */
  thread: number;
  pausedMs: number;
  tensors: readonly number[];
  /** Stacks by site, innermost frame first. */
  stacks: ReadonlyMap<number, Frame[]>;
  /** Where open scopes were opened, if recorded. */
  openings: ReadonlyMap<number, Frame[]>;
  /** Files that were compiled in memory: lines in the heap are not those of the source. */
  compiled: ReadonlySet<string>;
  tokens: number;
  /** Tensors that carry a graph. */
  graphs: number;
  /** Bytes that libtorch holds in the process but no tensor accounts for. */
  hiddenBytes: number;
  /** Live tensors of other threads, whose heaps are not read, and their bytes. */
  elsewhere: { tensors: number; bytes: number };
}

export const NO_FACTS: Facts = {
  pid: 0,
  thread: 0,
  pausedMs: 0,
  tensors: [],
  stacks: new Map(),
  openings: new Map(),
  compiled: new Set(),
  tokens: 0,
  graphs: 0,
  hiddenBytes: 0,
  elsewhere: { tensors: 0, bytes: 0 },
};

/** @throws {InvalidData} */
export function factsOf(text: string): Facts {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new InvalidData('facts: expected JSON, got other text');
  }
  const given = object(value, 'facts');
  const names = new Names(new Budget());
  const stacks = (key: string) =>
    new Map(
      list(given[key], `facts.${key}`, MAX_SITES).map((one, i) => {
        const where = `facts.${key}[${i}]`;
        const [id, stack] = list(one, where, 2);
        return [amount(id, where), names.stack(stack, where)];
      }),
    );
  const tensors = list(given.tensors, 'facts.tensors', COLUMNS * MAX_TENSORS);
  if (tensors.length % COLUMNS !== 0) throw new InvalidData('facts.tensors: expected whole rows');
  for (const figure of tensors) amount(figure, 'facts.tensors');
  // Processes with an earlier version of the library do not send it.
  const elsewhere = list(given.elsewhere ?? [0, 0], 'facts.elsewhere', 2);
  return {
    pid: whole(given.pid, 'facts.pid', 2 ** 32),
    thread: whole(given.thread, 'facts.thread', 2 ** 32),
    pausedMs: amount(given.pausedMs, 'facts.pausedMs'),
    tensors: tensors as number[],
    stacks: stacks('stacks'),
    openings: stacks('openings'),
    compiled: new Set(
      list(given.compiled ?? [], 'facts.compiled', MAX_SITES).map((one) => names.text(one, 'facts.compiled')),
    ),
    tokens: amount(given.tokens, 'facts.tokens'),
    graphs: amount(given.graphs, 'facts.graphs'),
    hiddenBytes: amount(given.hiddenBytes, 'facts.hiddenBytes'),
    elsewhere: {
      tensors: amount(elsewhere[0], 'facts.elsewhere'),
      bytes: amount(elsewhere[1], 'facts.elsewhere'),
    },
  };
}
