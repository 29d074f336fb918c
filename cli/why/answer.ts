/** Finds what holds the tensors of one heap. Returns only names and figures, no other text of the heap. */

import { EsModules } from './es-modules';
import { COLUMNS, type Facts, NO_FACTS } from './facts';
import { Groups } from './groups';
import type { Answer, Row } from './holder';
import { Names } from './names';
import { ownersOf } from './owners';
import { Paths } from './paths';
import { Scripts } from './scripts';
import { type AnswerOptions, Sites } from './sites';
import { Edge, HeapSnapshot, Kind } from './snapshot';
import { globalsOf, WANTED, type WellKnown, wellKnownOf } from './well-known';
import { isOwnFile, wordsFor } from './words';

interface Target {
  node: number;
  handle: number;
}

export function answerFrom(fd: number, facts: Facts | undefined, options: AnswerOptions): Answer {
  const heap = HeapSnapshot.read(fd, WANTED);
  const known = wellKnownOf(heap);
  const { folder, redaction } = options;
  const given = facts ?? NO_FACTS;
  const words = wordsFor(folder, redaction, given.compiled);
  const scripts = new Scripts(heap, known);
  const modules = new EsModules(heap, known);
  const globals = globalsOf(heap, known);
  const paths = new Paths(heap, known, scripts, modules, globals, isOwnFile);
  const names = new Names(heap, known, scripts, modules, paths, words, globals, isOwnFile);
  const groups = new Groups(paths, names);
  const sites = new Sites(given, options);
  const rows = rowsOf(given);
  const seen = new Set<number>();
  for (const { node, handle } of targetsIn(heap, known, facts !== undefined)) {
    const row = rows.get(handle);
    // A handle that the thread does not know belongs to a disposed tensor.
    if (facts !== undefined && row === undefined) continue;
    if (seen.has(handle) || !sites.isWanted(row?.site ?? 0)) continue;
    if (row !== undefined && row.scope !== 0) continue; // held by its scope, whatever else refers to it
    if (!paths.isReached(node)) continue;
    seen.add(handle);
    groups.add(node, row?.site ?? 0, row?.bytes ?? 0);
  }
  const held = groups.all().map(({ path, tensors, bytes, sites: shares }) => ({
    path,
    tensors,
    bytes,
    sites: sites.shares(shares),
  }));
  const heldBy = [...held, ...ownersOf(given, rows, seen, sites, words)].sort(
    (a, b) => b.bytes - a.bytes || b.tensors - a.tensors,
  );
  return {
    pid: given.pid,
    thread: given.thread,
    pausedMs: given.pausedMs,
    tensors: heldBy.reduce((sum, { tensors }) => sum + tensors, 0),
    bytes: heldBy.reduce((sum, { bytes }) => sum + bytes, 0),
    heldBy,
  };
}

function rowsOf({ tensors }: Facts): Map<number, Row> {
  const rows = new Map<number, Row>();
  for (let at = 0; at < tensors.length; at += COLUMNS)
    rows.set(tensors[at]!, { bytes: tensors[at + 1]!, site: tensors[at + 2]!, scope: tensors[at + 3]! });
  return rows;
}

/** Tensors, and models by their token. If the handles are unknown, each tensor gets a number. */
function targetsIn(heap: HeapSnapshot, known: WellKnown, areKnown: boolean): Target[] {
  const nodes: number[] = [];
  const texts: number[] = [];
  for (let node = 0; node < heap.nodes; node++) {
    if (heap.kinds[node] !== Kind.object) continue;
    const number = heap.follow(node, known._handle, Edge.property);
    if (number < 0 || heap.kinds[number] !== Kind.number) continue;
    if (!areKnown) {
      if (heap.names[node] === known.Tensor) nodes.push(node);
      continue;
    }
    // Generators, and objects of other libraries, have handles of their own, whose numbers are also those of tensors.
    if (heap.follow(node, known._mark, Edge.property) < 0 && heap.follow(node, known._token, Edge.property) < 0)
      continue;
    const value = heap.follow(number, known.value, Edge.internal);
    if (value < 0) continue;
    nodes.push(node);
    texts.push(heap.names[value]!);
  }
  if (!areKnown) return nodes.map((node, i) => ({ node, handle: i }));
  const handles = new Map<number, number>();
  heap.strings.each(texts, (id, text) => handles.set(id, Number(text)));
  return nodes.map((node, i) => ({ node, handle: handles.get(texts[i]!) ?? Number.NaN }));
}
