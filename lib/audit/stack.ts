/** Call sites without `Error.stack` strings: positions only, hashed first, spelled out once per new stack. */
import { realpathSync } from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import { generatedFolder } from '../native';
import { restoring } from '../turn';

export interface Frame {
  file: string;
  line: number;
  column: number;
  function: string;
}

/** V8 has it on every version of Node that we support; Node's types do not. */
type CallSite = NodeJS.CallSite & { getPosition(): number };

export interface Stack {
  /** Equal for equal positions; for different ones different, but for one chance in 2^53. */
  key: number;
  /** The frames, innermost first. To be called at once: call sites must not outlive the capture. */
  frames(): Frame[];
}

/** This package's own folders (dist/lib, and the wrappers of the binding): their frames at the top are not the user's. */
const OWN_FOLDERS = [path.resolve(__dirname, '..'), realpathSync(generatedFolder)].map((dir) => dir + path.sep);

/** Frames of ours above the user's: wrappers, argument parser, scopes. So many at most, */
const MAX_OWN_FRAMES = 8;
/** and so many have been seen. Each frame that is captured costs some 0.3 µs. */
let ownFrames = 2;

const isOwn = (file: string) => OWN_FOLDERS.some((dir) => file.startsWith(dir));
const isInternal = (file: string) => file.startsWith('node:') || file === '';

/** ES modules are named by URL; the rest of the world speaks of paths. */
function toPath(name: string): string {
  if (!name.startsWith('file:')) return name;
  try {
    return fileURLToPath(name);
  } catch {
    return name;
  }
}

const fileOf = (site: CallSite) => toPath(site.getFileName() ?? '');

const collect = (_error: Error, sites: NodeJS.CallSite[]) => sites;

/**
 * The stack of the caller of `below`, at most `depth` frames. Frames of libtorch-node and of Node at its top are left
 * out. Whatever the program set as `Error.prepareStackTrace` and `Error.stackTraceLimit` is back when this returns.
 */
export function captureStack(depth: number, below: (...args: never[]) => unknown): Stack {
  let sites = capture(depth + ownFrames, below);
  let first = firstOfUser(sites);
  if (first > ownFrames && sites.length === depth + ownFrames) {
    ownFrames = Math.min(first, MAX_OWN_FRAMES);
    sites = capture(depth + MAX_OWN_FRAMES, below);
    first = firstOfUser(sites);
  }
  const end = Math.min(sites.length, first + depth);
  // Two hashes over script and offset: neither strings are built nor lines counted for a stack seen before.
  let a = 0x811c9dc5;
  let b = 0x9747b28c;
  for (let i = first; i < end; i++) {
    const site = sites[i]!;
    const position = Math.imul(scriptOf(site).id, 0x9e3779b1) ^ site.getPosition();
    a = Math.imul(a ^ position, 0x01000193);
    a ^= a >>> 15;
    b = Math.imul(b + position, 0x5bd1e995);
    b ^= b >>> 13;
  }
  const key = (a >>> 0) * 2 ** 21 + ((b >>> 0) & (2 ** 21 - 1));
  return { key, frames: () => sites.slice(first, end).map(toFrame) };
}

function capture(limit: number, below: (...args: never[]) => unknown): CallSite[] {
  const holder: { stack?: CallSite[] } = {};
  const { prepareStackTrace, stackTraceLimit } = Error;
  const hadPrepare = Object.hasOwn(Error, 'prepareStackTrace');
  const undo = () => restore(hadPrepare, prepareStackTrace, stackTraceLimit);
  return restoring(undo, () => {
    try {
      Error.prepareStackTrace = collect;
      Error.stackTraceLimit = limit;
      Error.captureStackTrace(holder, below);
      return holder.stack ?? [];
    } catch {
      return []; // a frozen Error: no stack is better than a broken program
    }
  });
}

/** How many frames at the top are ours or Node's. */
function firstOfUser(sites: CallSite[]): number {
  let first = 0;
  while (first < sites.length && scriptOf(sites[first]!).skipped) first++;
  return first;
}

interface Script {
  id: number;
  /** Ours or Node's: left out at the top of a stack. */
  skipped: boolean;
}

const scripts = new Map<string | null, Script>();

function scriptOf(site: CallSite): Script {
  const name = site.getFileName() as string | null;
  let script = scripts.get(name);
  if (script === undefined) {
    const file = toPath(name ?? '');
    script = { id: scripts.size + 1, skipped: isOwn(file) || isInternal(file) };
    scripts.set(name, script);
  }
  return script;
}

function restore(hadPrepare: boolean, prepare: typeof Error.prepareStackTrace, limit: number): void {
  try {
    if (hadPrepare) Error.prepareStackTrace = prepare;
    else Reflect.deleteProperty(Error, 'prepareStackTrace');
    Error.stackTraceLimit = limit;
  } catch {
    // Frozen: nothing was changed either.
  }
}

function toFrame(site: CallSite): Frame {
  return {
    file: fileOf(site),
    line: site.getLineNumber() ?? 0,
    column: site.getColumnNumber() ?? 0,
    function: site.getFunctionName() ?? '',
  };
}
