/**
 * Writes a heap snapshot of this thread for `leak-audit why`, and facts that the heap does not contain: the live tensors, the
 * lines that made them, and their owners. Both go into unnamed files that leak-audit opened. The thread pauses while V8
 * writes the snapshot; a warning in the program reports for how long.
 */
import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { threadId } from 'node:worker_threads';
import type { ChildHeapFiles, HeapFiles, HeapNative } from '../../addon/recorder';
import { compiledFiles, inSource } from './compiled';
import { writeSnapshot } from './heap-snapshot';
import { SNAPSHOT_BEGINS, SNAPSHOT_ENDS } from './marks';
import type { Frame } from './stack';

/** The addon's other functions that are used here. */
interface Library {
  watchRead(): { tensors: Float64Array; storages: Float64Array };
  gradFnName(handle: number): string;
  memory(): { tokens: number; tensors: number; bytes: number; allocatedBytes: number };
}

/** Columns of watchRead's tensors, and of auditSites. */
const READ = 7;
const SITES = 3;
/** Of a token in ChildHeapFiles.claims. */
const CLAIM_BYTES = 16;
/** The most tensors that are checked for a graph. */
const MAX_GRAPH_CHECKS = 100_000;

export type Warn = (text: string, code: string) => void;

/** Serves a request of leak-audit to this thread, if there is one. */
export function answerHeap(native: HeapNative, warn: Warn): void {
  const files = native.auditTakeHeap();
  if (files === undefined) return;
  const [snapshot, facts] = files;
  let pausedMs = 0;
  try {
    native.auditMark(SNAPSHOT_BEGINS);
    pausedMs = writeHeap(native, snapshot, facts, native.auditSites(), false);
    native.auditMark(SNAPSHOT_ENDS);
    native.auditHeapDone(pausedMs, '');
  } catch (error) {
    empty(snapshot, facts);
    native.auditHeapDone(pausedMs, `the heap snapshot failed: ${String(error)}`); // such as a full disk; leak-audit reports it
    return;
  }
  warn(pauseText(pausedMs), 'TORCH_HEAP_SNAPSHOT');
}

const pauseText = (ms: number): string =>
  `leak-audit took a heap snapshot: ${threadId === 0 ? 'the main thread' : `worker ${threadId}`} paused for ${Math.ceil(ms)} ms`;

/** Frees the disk, and closes what `v8.writeHeapSnapshot` leaves open after an error: its own descriptor of the file. */
export function empty(...descriptors: number[]): void {
  const tried = <T>(fn: () => T): T | undefined => {
    try {
      return fn();
    } catch {
      return undefined; // its disk has failed, or the descriptor is closed by now; the first error is reported
    }
  };
  const open = tried(() => fs.readdirSync('/proc/self/fd').map(Number)) ?? [];
  for (const fd of descriptors) {
    tried(() => fs.ftruncateSync(fd));
    const own = tried(() => fs.fstatSync(fd));
    for (const other of open) {
      if (own === undefined || descriptors.includes(other)) continue;
      const stat = tried(() => fs.fstatSync(other));
      if (stat?.dev === own.dev && stat.ino === own.ino) tried(() => fs.closeSync(other));
    }
  }
}

/**
 * Writes both files and returns the duration. `sites` was read before, since the recording may have ended meanwhile. The
 * caller closes the descriptors. `isAlone`: no other thread writes its heap.
 */
function writeHeap(native: HeapNative, snapshot: number, facts: number, sites: Float64Array, isAlone: boolean): number {
  const began = performance.now();
  writeSnapshot(snapshot);
  const pausedMs = performance.now() - began;
  // After the snapshot, which collects garbage, so that both show the same live tensors.
  fs.writeFileSync(facts, JSON.stringify(factsOf(native, sites, pausedMs, isAlone)));
  return pausedMs;
}

/**
 * Opens a file of leak-audit, which has no name: if leak-audit was killed, another process may have its number, and under this
 * descriptor a file with a name, or a pipe.
 */
function openUnnamed(file: string, flags: number): number {
  const fd = fs.openSync(file, flags | fs.constants.O_NONBLOCK);
  const { nlink, mode } = fs.fstatSync(fd);
  if (nlink === 0 && (mode & fs.constants.S_IFMT) === fs.constants.S_IFREG) return fd;
  fs.closeSync(fd);
  throw new Error(`expected an unnamed file, got ${file}`);
}

/**
 * The first files that no other child process has taken, if any are left. Each process appends a token to one file and reads
 * at which place it stands: appends do not overlap.
 */
export function claimFiles({ claims, files }: ChildHeapFiles): HeapFiles | undefined {
  const token = randomBytes(CLAIM_BYTES);
  const fd = openUnnamed(claims, fs.constants.O_RDWR | fs.constants.O_APPEND);
  try {
    fs.writeSync(fd, token);
    const all = Buffer.alloc(files.length * CLAIM_BYTES);
    const size = fs.readSync(fd, all, 0, all.length, 0);
    for (let at = 0; at < size; at += CLAIM_BYTES)
      if (token.equals(all.subarray(at, at + CLAIM_BYTES))) return files[at / CLAIM_BYTES];
    return undefined;
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * Like `answerHeap`, at the exit of a program. `stop` ends the recording first, so that it does not include this. `filesOf` is
 * given the number of live tensors.
 */
export function leaveHeap(
  native: HeapNative,
  filesOf: (live: number) => HeapFiles | undefined,
  stop: () => void,
): void {
  const sites = native.auditSites();
  stop();
  const open: number[] = [];
  try {
    const files = filesOf(sites.length / SITES);
    if (files === undefined) return;
    const { snapshot, facts } = files;
    for (const file of [snapshot, facts]) {
      open.push(openUnnamed(file, fs.constants.O_WRONLY));
    }
    writeHeap(native, open[0]!, open[1]!, sites, true);
  } catch {
    // leak-audit has exited or the disk is full: leak-audit reports missing facts. The program exits normally.
  } finally {
    for (const fd of open) fs.closeSync(fd);
  }
}

function factsOf(native: HeapNative, sites: Float64Array, pausedMs: number, isAlone: boolean): object {
  const library = native as unknown as Library;
  const owners = new Map<number, readonly [site: number, scope: number]>();
  for (let at = 0; at < sites.length; at += SITES) owners.set(sites[at]!, [sites[at + 1]!, sites[at + 2]!]);
  const { tensors, storages } = library.watchRead();
  const seen = new Set<number>();
  const rows: number[] = [];
  let ownBytes = 0;
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
    ownBytes += bytes;
    if (site !== 0 && !stacks.has(site)) stacks.set(site, JSON.parse(native.auditSite(site) || '[]') as Frame[]);
    const opening = native.scopeOpenings?.of(scope);
    if (opening !== undefined) openings.set(scope, opening.map(inSource));
    if (at < MAX_GRAPH_CHECKS * READ && hasGraph(library, handle)) graphs++;
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
    compiled: compiledFiles(),
    tokens: memory.tokens,
    graphs,
    hiddenBytes: Math.max(0, memory.allocatedBytes - memory.bytes),
    // Those of threads that write no heap: nothing else would say that they exist.
    elsewhere: isAlone ? [memory.tensors - tensors.length / READ, memory.bytes - ownBytes].map(atLeast0) : [0, 0],
  };
}

const atLeast0 = (figure: number) => Math.max(0, figure);

function hasGraph(library: Library, handle: number): boolean {
  try {
    return library.gradFnName(handle) !== '';
  } catch {
    return false; // in use by a running op: unknown
  }
}
