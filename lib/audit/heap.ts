/**
 * A heap snapshot of this thread for `leak-audit why`, and beside it what the heap does not tell: which tensors live, who made
 * them, and who owns them. Both go into files that leak-audit opened, of which nothing has the names. The thread stands still
 * while V8 writes the snapshot; the program's log says for how long.
 */
import * as fs from 'node:fs';
import * as v8 from 'node:v8';
import { threadId } from 'node:worker_threads';
import type { Openings } from '../scopes/openings';
import type { Frame } from './stack';

/** What the addon offers. */
export interface HeapNative {
  /** Descriptors of the files for snapshot and facts; undefined where nobody asked. */
  auditTakeHeap(): [snapshot: number, facts: number] | undefined;
  /** `error`: why it was not done; '' where it was. The files are closed. */
  auditHeapDone(pausedMs: number, error: string): void;
  /** Rows of handle, site of the recording (0: not known) and scope (0: none). */
  auditSites(): Float64Array;
  /** A site's stack as JSON; '' where it is not known. */
  auditSite(site: number): string;
  /** Shared by all copies of the library over this addon. */
  scopeOpenings?: Openings;
}

/** What else it asks of the library, which loads this module early. */
interface Library {
  watchRead(): { tensors: Float64Array; storages: Float64Array };
  gradFnName(handle: number): string;
  memory(): { tokens: number; bytes: number; allocatedBytes: number };
}

/** Columns of watchRead's tensors, and of auditSites. */
const READ = 7;
const SITES = 3;
/** More tensors are not asked for their graphs. */
const MAX_ASKED = 100_000;

export type Warn = (text: string, code: string) => void;

/** Does what leak-audit asked of this thread, if it did. */
export function answerHeap(native: HeapNative, warn: Warn): void {
  const files = native.auditTakeHeap();
  if (files === undefined) return;
  const [snapshot, facts] = files;
  let pausedMs = 0;
  try {
    pausedMs = writeHeap(native, snapshot, facts, native.auditSites());
    native.auditHeapDone(pausedMs, '');
  } catch (error) {
    native.auditHeapDone(pausedMs, `the heap snapshot failed: ${String(error)}`); // a full disk, say: leak-audit tells it
    return;
  }
  warn(pauseText(pausedMs), 'TORCH_HEAP_SNAPSHOT');
}

export const pauseText = (ms: number): string =>
  `leak-audit took a heap snapshot: ${threadId === 0 ? 'the main thread' : `worker ${threadId}`} paused for ${Math.ceil(ms)} ms`;

/**
 * Writes both files; how long it took. `sites`: of before, since the recording may have ended meanwhile. The descriptors are
 * the caller's.
 */
export function writeHeap(native: HeapNative, snapshot: number, facts: number, sites: Float64Array): number {
  const began = performance.now();
  v8.writeHeapSnapshot(`/proc/self/fd/${snapshot}`, { exposeNumericValues: true });
  const pausedMs = performance.now() - began;
  // After the snapshot, which collects garbage: what lives now is what it shows.
  fs.writeFileSync(facts, JSON.stringify(factsOf(native, sites, pausedMs)));
  return pausedMs;
}

/** Files that `leak-audit run --why` holds open, by their places in /proc: written at the exit of the program. */
export interface HeapFiles {
  snapshot: string;
  facts: string;
}

/** What `answerHeap` does, at the end of a program: `stop` ends the recording, which is not to show this. */
export function leaveHeap(native: HeapNative, { snapshot, facts }: HeapFiles, stop: () => void): void {
  const sites = native.auditSites();
  stop();
  const open: number[] = [];
  try {
    for (const file of [snapshot, facts]) {
      const fd = fs.openSync(file, fs.constants.O_WRONLY);
      open.push(fd);
      if (!fs.fstatSync(fd).isFile()) return;
    }
    writeHeap(native, open[0]!, open[1]!, sites);
  } catch {
    // leak-audit is gone, or its disk is full: it finds no facts, and says so. The program ends as it would.
  } finally {
    for (const fd of open) fs.closeSync(fd);
  }
}

function factsOf(native: HeapNative, sites: Float64Array, pausedMs: number): object {
  const library = native as unknown as Library;
  const owners = new Map<number, readonly [site: number, scope: number]>();
  for (let at = 0; at < sites.length; at += SITES) owners.set(sites[at]!, [sites[at + 1]!, sites[at + 2]!]);
  const { tensors, storages } = library.watchRead();
  const seen = new Set<number>();
  const rows: number[] = [];
  const stacks = new Map<number, Frame[]>();
  const openings = new Map<number, readonly Frame[]>();
  let graphs = 0;
  for (let at = 0; at < tensors.length; at += READ) {
    const handle = tensors[at]!;
    const [site, scope] = owners.get(handle) ?? [0, 0];
    let bytes = 0;
    for (let i = 0; i < tensors[at + 6]!; i++) {
      const storage = (tensors[at + 5]! + i) * 2;
      if (seen.has(storages[storage]!)) continue;
      seen.add(storages[storage]!);
      bytes += storages[storage + 1]!;
    }
    rows.push(handle, bytes, site, scope);
    if (site !== 0 && !stacks.has(site)) stacks.set(site, JSON.parse(native.auditSite(site) || '[]') as Frame[]);
    const opening = native.scopeOpenings?.of(scope);
    if (opening !== undefined) openings.set(scope, opening);
    if (at < MAX_ASKED * READ && hasGraph(library, handle)) graphs++;
  }
  const memory = library.memory();
  return {
    version: 1,
    pid: process.pid,
    thread: threadId,
    pausedMs,
    tensors: rows,
    stacks: [...stacks],
    openings: [...openings],
    tokens: memory.tokens,
    graphs,
    hiddenBytes: Math.max(0, memory.allocatedBytes - memory.bytes),
  };
}

function hasGraph(library: Library, handle: number): boolean {
  try {
    return library.gradFnName(handle) !== '';
  } catch {
    return false; // an op under way has it: nothing can be said of it now
  }
}
