/**
 * Determines whether the function that awaits now is the one that opened a scope. The library gets no other notice when an
 * async function that called `openScope` waits for the first time, so stacks are compared. Only positions matter.
 */

import { restoring } from './restoring';

/** A V8 call site. Declared here, because Node's types lack some of these and the package's types do not use Node's. */
interface Site {
  getFileName(): string | null | undefined;
  getFunctionName(): string | null;
  getLineNumber(): number | null;
  getColumnNumber(): number | null;
  isEval(): boolean;
  getPosition(): number;
  getEnclosingLineNumber?(): number | null;
  getEnclosingColumnNumber?(): number | null;
}

/** The stack of an `openScope` call. V8 formats it on first read, which costs more than the capture. */
export interface Opener {
  stack?: Site[];
}

/** Frames that are compared: enough to distinguish two activations of a function, few enough to be cheap. */
const WINDOW = 16;
/** Node's own frames above the one that awaits. */
const HOOK_FRAMES = 4;

const collect = (_error: Error, sites: NodeJS.CallSite[]) => sites;
const isHook = (site: Site) => site.getFileName()?.startsWith('node:internal/async_hooks') === true;
const isBuiltin = (site: Site) => site.getFileName() == null && !site.isEval();

function note(limit: number, below: (...args: never[]) => unknown): Opener {
  const opener: Opener = {};
  const { stackTraceLimit } = Error;
  const undo = () => {
    Error.stackTraceLimit = stackTraceLimit;
  };
  try {
    restoring(undo, () => {
      Error.stackTraceLimit = limit;
      Error.captureStackTrace(opener, below);
    });
  } catch {
    opener.stack = []; // a frozen Error: as if the stack had not been noted
  }
  return opener;
}

function sitesOf(opener: Opener): Site[] {
  const { prepareStackTrace } = Error;
  const hadPrepare = Object.hasOwn(Error, 'prepareStackTrace');
  const undo = () => {
    if (hadPrepare) Error.prepareStackTrace = prepareStackTrace;
    else Reflect.deleteProperty(Error, 'prepareStackTrace');
  };
  try {
    return restoring(undo, () => {
      Error.prepareStackTrace = collect;
      const sites = opener.stack;
      return Array.isArray(sites) ? sites : [];
    });
  } catch {
    return []; // a frozen Error, as above
  }
}

/** Notes the stack of the caller of `below`. */
export const noteOpener = (below: (...args: never[]) => unknown): Opener => note(WINDOW, below);

/** Whether user code is among the nearest frames below `above`; a turn of the event loop begins in Node's code. */
export const isInsideProgram = (above: (...args: never[]) => unknown): boolean =>
  sitesOf(note(WINDOW, above)).some((site) => {
    const file = site.getFileName();
    return file != null && !file.startsWith('node:');
  });

/** The stack at the creation of a promise, as an async hook sees it. */
export interface Birth {
  sites: Site[];
  /** Created by an `await` in the first frame, not by `then` or another built-in function. */
  awaits: boolean;
}

export function birthOfPromise(hook: (...args: never[]) => unknown): Birth {
  const sites = sitesOf(note(WINDOW + HOOK_FRAMES, hook));
  let first = 0;
  while (first < sites.length && isHook(sites[first]!)) first++;
  const below = sites.slice(first);
  return { sites: below, awaits: below.length > 0 && !isBuiltin(below[0]!) };
}

const sameFunction = (a: Site, b: Site) =>
  a.getFileName() === b.getFileName() &&
  a.getFunctionName() === b.getFunctionName() &&
  a.getEnclosingLineNumber?.() === b.getEnclosingLineNumber?.() &&
  a.getEnclosingColumnNumber?.() === b.getEnclosingColumnNumber?.();

const samePlace = (a: Site, b: Site) =>
  a.getFileName() === b.getFileName() &&
  (isBuiltin(a) ? a.getFunctionName() === b.getFunctionName() : a.getPosition() === b.getPosition());

/** Whether a birth's stack below its first frame equals an opener's stack below frame `at`, as far as both are known. */
function sameBelow(birth: Site[], opened: Site[], at: number): boolean {
  for (let i = 1; ; i++) {
    const inBirth = i < birth.length;
    const inOpened = at + i < opened.length;
    // A stack shorter than the limit is complete.
    if (!inBirth) return !inOpened || birth.length >= WINDOW;
    if (!inOpened) return opened.length >= WINDOW;
    if (!samePlace(birth[i]!, opened[at + i]!)) return false;
  }
}

/**
 * Whether control has left the opener's function when the promise is created: it awaits itself, or a function that called
 * it does, or it is a generator (compiled from an async function) that has yielded. An opener that was not noted counts as
 * left: tensors then go to the enclosing scope, so they are freed later than necessary, never too early.
 */
export function isLeft(opener: Opener | null, birth: Birth): boolean {
  if (opener === null) return birth.awaits;
  const opened = sitesOf(opener);
  if (opened.length === 0) return birth.awaits;
  if (birth.awaits) {
    const awaiting = birth.sites[0]!;
    return opened.some((site, at) => sameFunction(site, awaiting) && sameBelow(birth.sites, opened, at));
  }
  const caller = opened[1];
  const isGenerator = caller !== undefined && isBuiltin(caller) && /(^|\.)next$/.test(caller.getFunctionName() ?? '');
  return isGenerator && !birth.sites.some((site) => sameFunction(site, opened[0]!));
}
