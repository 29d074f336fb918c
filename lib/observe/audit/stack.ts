/** Captures call sites without `Error.stack` strings: positions are hashed first, and formatted once per new stack. */
import { realpathSync } from 'node:fs';
import * as path from 'node:path';
import { generatedFolder, native } from '../../addon/native';
import { restoring } from '../../errors/restoring';
import { callSites } from './call-sites';
import { noteMap } from './running-maps';
import { nameOfScript, scriptPath } from './script-path';
import { noteWaiting } from './waiting';

export interface Frame {
  file: string;
  line: number;
  column: number;
  function: string;
}

/** Every supported version of Node has getPosition; Node's types lack it. */
type CallSite = NodeJS.CallSite & { getPosition(): number };

export interface Stack {
  /** A 53-bit hash of the positions. */
  key: number;
  /** The frames, innermost first. Call it immediately: call sites must not outlive the capture. */
  frames(): Frame[];
  /**
   * What determines the frames besides the return addresses on the stack: a number for the functions that wait for the running one,
   * which V8 takes from elsewhere, 0 for nothing; undefined if that is not known. Call it immediately, too.
   */
  waiting?(): number | undefined;
}

/** This package's own folders (dist/lib, and the wrappers of the binding), whose frames at the top are skipped. */
const OWN_FOLDERS = [path.resolve(__dirname, '../..'), realpathSync(generatedFolder)].map((dir) => dir + path.sep);

/** The most frames of this library above the user's that each stack has room for: wrappers, argument parser, scopes. */
const MAX_OWN_FRAMES = 8;
/** Where those are not enough, once more with so many: modules in modules, or a hook of one of them. */
const MAX_DEEP_FRAMES = 500;
/** The most seen so far. Each captured frame costs some 0.3 µs. */
let ownFrames = 2;

const isOwn = (file: string) => OWN_FOLDERS.some((dir) => file.startsWith(dir));
const isInternal = (file: string) => file.startsWith('node:') || file === '';

const collect = (_error: Error, sites: NodeJS.CallSite[]) => sites;

/**
 * The stack of the caller of `below`, at most `depth` frames. Frames of libtorch-node and of Node at its top are omitted.
 * Restores the program's `Error.prepareStackTrace` and `Error.stackTraceLimit`.
 */
export function captureStack(depth: number, below: (...args: never[]) => unknown): Stack {
  let limit = depth + ownFrames;
  let isDeep = false;
  let sites = capture(limit, below);
  let first = firstOfUser(sites);
  if (first > ownFrames && sites.length === limit) {
    ownFrames = Math.min(first, MAX_OWN_FRAMES);
    limit = depth + MAX_OWN_FRAMES;
    if (sites.length < limit) {
      sites = capture(limit, below);
      first = firstOfUser(sites);
    }
    if (first === limit && sites.length === limit) {
      limit = depth + MAX_DEEP_FRAMES;
      isDeep = true;
      sites = capture(limit, below);
      first = firstOfUser(sites);
    }
  }
  const end = Math.min(sites.length, first + depth);
  // Two hashes over script and offset: for a known stack no strings are built and no lines counted.
  let a = 0x811c9dc5;
  let b = 0x9747b28c;
  for (let i = first; i < end; i++) {
    const site = sites[i]!;
    const position = placeOf(site);
    a = Math.imul(a ^ position, 0x01000193);
    a ^= a >>> 15;
    b = Math.imul(b + position, 0x5bd1e995);
    b ^= b >>> 13;
  }
  const key = (a >>> 0) * 2 ** 21 + ((b >>> 0) & (2 ** 21 - 1));
  return {
    key,
    frames: () => sites.slice(first, end).map((site, i) => toFrame(site, sites[first + i + 1])),
    // Of a deep stack the return addresses that are compared do not reach the user's frames.
    waiting: () => (isDeep ? undefined : waitingOf(sites, sites.length === limit)),
  };
}

const placeOf = (site: CallSite) => Math.imul(scriptOf(site).id, 0x9e3779b1) ^ site.getPosition();

/** Its functions may run microtasks of a context's own queue. */
const CONTEXTS = 'node:vm';
/** What evaluates a module, once. */
const MODULES = 'node:internal/modules/';

function waitingOf(sites: readonly CallSite[], isFull: boolean): number | undefined {
  const fileAt = (i: number) => scriptOf(sites[i]!).file;
  let last = sites.length - 1;
  while (last >= 0 && sites[last]!.isAsync()) last--;
  const waiting = sites.slice(last + 1);
  if (isFull && waiting.length === 0) return 0;
  const isModule = waiting.every((site) => isInternal(scriptOf(site).file));
  for (let i = 0; i <= last; i++) {
    const file = fileAt(i);
    if (file === CONTEXTS || file.startsWith('wasm:')) return undefined;
    if (isModule && file.startsWith(MODULES)) return 0;
  }
  if (!native.auditInMicrotask()) return waiting.length === 0 ? 0 : undefined;
  if (isFull) return undefined; // more functions may wait
  const hash = waiting.reduce((all, site) => Math.imul(all ^ placeOf(site), 0x01000193) ^ (all >>> 15), 0x811c9dc5);
  const number = (hash | 1) >>> 0;
  noteWaiting(number);
  return number;
}

function capture(limit: number, below: (...args: never[]) => unknown): CallSite[] {
  return (sitesOfProgram(limit, below) ?? callSites(limit, below)) as CallSite[];
}

const { getOwnPropertyDescriptor } = Object;

/**
 * From the program's own `Error`, which is quicker; undefined if it is frozen or replaced, or has accessors: those are code of
 * the program, which must not run in the middle of an op.
 */
function sitesOfProgram(limit: number, below: (...args: never[]) => unknown): NodeJS.CallSite[] | undefined {
  const holder: { stack?: NodeJS.CallSite[] } = {};
  try {
    const prepare = getOwnPropertyDescriptor(Error, 'prepareStackTrace');
    const before = getOwnPropertyDescriptor(Error, 'stackTraceLimit');
    if (prepare?.set !== undefined || prepare?.get !== undefined || typeof before?.value !== 'number') return undefined;
    const undo = () => restore(prepare !== undefined, prepare?.value, before.value);
    return restoring(undo, () => {
      Error.prepareStackTrace = collect;
      Error.stackTraceLimit = limit;
      Error.captureStackTrace(holder, below);
      return Array.isArray(holder.stack) ? holder.stack : undefined;
    });
  } catch {
    return undefined;
  }
}

/** The number of frames at the top that belong to this library or Node. */
function firstOfUser(sites: CallSite[]): number {
  let first = 0;
  while (first < sites.length && scriptOf(sites[first]!).skipped) first++;
  return first;
}

interface Script {
  id: number;
  /** The path of a file, or another name; '' without any. */
  file: string;
  /** Belongs to this library or Node: omitted at the top of a stack. */
  skipped: boolean;
  /** Whether its source map was noted, which needs a stack with the script. */
  noted: boolean;
}

const scripts = new Map<string | null, Script>();

function scriptOf(site: CallSite): Script {
  const name = nameOfScript(site);
  let script = scripts.get(name);
  if (script === undefined) {
    const file = scriptPath(name ?? '');
    script = { id: scripts.size + 1, file, skipped: isOwn(file) || isInternal(file), noted: false };
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

function toFrame(site: CallSite, caller: CallSite | undefined): Frame {
  const script = scriptOf(site);
  if (!script.noted) {
    script.noted = true;
    if (!script.skipped) noteMap(script.file, native.sourceMapUrl(nameOfScript(site)!));
  }
  return {
    file: script.file,
    line: site.getLineNumber() ?? 0,
    column: site.getColumnNumber() ?? 0,
    function: nameOf(site, caller),
  };
}

/** V8 calls the code of a class's fields `<instance_members_initializer>`; its caller is the constructor of the class. */
function nameOf(site: CallSite, caller: CallSite | undefined): string {
  const name = site.getFunctionName() ?? '';
  if (name !== '<instance_members_initializer>') return name;
  const owner = caller?.isConstructor() ? caller.getFunctionName() : site.getTypeName();
  return owner === null || owner === '' ? 'field initialiser' : `field initialiser of ${owner}`;
}
