/** Call sites without `Error.stack` strings: positions only, hashed first, spelled out once per new stack. */
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Frame {
  file: string;
  line: number;
  column: number;
  function: string;
}

export interface Stack {
  /** Equal for equal positions. */
  key: string;
  /** The frames, innermost first. To be called at once: call sites must not outlive the capture. */
  frames(): Frame[];
}

/** This package's own folder (dist/lib): its frames at the top of a stack are not the user's. */
const OWN_FOLDER = path.resolve(__dirname, '..') + path.sep;

/** Frames of ours above the user's: wrappers, argument parser, scopes. */
const OWN_FRAMES = 12;

const isOwn = (file: string) => file.startsWith(OWN_FOLDER);
const isInternal = (file: string) => file.startsWith('node:') || file === '';

const paths = new Map<string, string>();

/** ES modules are named by URL; the rest of the world speaks of paths. */
function toPath(name: string): string {
  if (!name.startsWith('file:')) return name;
  let result = paths.get(name);
  if (result === undefined) {
    try {
      result = fileURLToPath(name);
    } catch {
      result = name;
    }
    paths.set(name, result);
  }
  return result;
}

const fileOf = (site: NodeJS.CallSite) => toPath(site.getFileName() ?? '');

const collect = (_error: Error, sites: NodeJS.CallSite[]) => sites;

/**
 * The stack of the caller of `below`, at most `depth` frames. Frames of libtorch-node and of Node at its top are left
 * out. Whatever the program set as `Error.prepareStackTrace` and `Error.stackTraceLimit` is back when this returns.
 */
export function captureStack(depth: number, below: (...args: never[]) => unknown): Stack {
  const holder: { stack?: NodeJS.CallSite[] } = {};
  const { prepareStackTrace, stackTraceLimit } = Error;
  const hadPrepare = Object.hasOwn(Error, 'prepareStackTrace');
  let sites: NodeJS.CallSite[];
  try {
    Error.prepareStackTrace = collect;
    Error.stackTraceLimit = depth + OWN_FRAMES;
    Error.captureStackTrace(holder, below);
    sites = holder.stack ?? [];
  } catch {
    sites = []; // a frozen Error: no stack is better than a broken program
  } finally {
    restore(hadPrepare, prepareStackTrace, stackTraceLimit);
  }

  let first = 0;
  let file = '';
  for (; first < sites.length; first++) {
    file = fileOf(sites[first]!);
    if (!isOwn(file) && !isInternal(file)) break;
  }
  const end = Math.min(sites.length, first + depth);
  let key = '';
  for (let i = first; i < end; i++) {
    const site = sites[i]!;
    key += `${site.getFileName()}:${site.getLineNumber()}:${site.getColumnNumber()}\n`;
  }
  return { key, frames: () => sites.slice(first, end).map(toFrame) };
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

function toFrame(site: NodeJS.CallSite): Frame {
  return {
    file: fileOf(site),
    line: site.getLineNumber() ?? 0,
    column: site.getColumnNumber() ?? 0,
    function: site.getFunctionName() ?? '',
  };
}
