/**
 * Who opened a scope, and whether the function that awaits now is that one. `openScope` in an async function has no end
 * that the library sees when the function waits for the first time: the stack tells it. Only positions are compared.
 */

import { restoring } from '../turn';

/** A call site of V8's, spelled out: the package's types need none of Node's, which do not have all of these either. */
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

/** The stack of an `openScope`: V8 spells it out when it is first read, which costs more than to note it. */
export interface Opener {
  stack?: Site[];
}

/** Frames that are compared: enough to tell two activations of one function apart, few enough to be cheap. */
const WINDOW = 16;
/** Frames of Node above the one that awaits. */
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
    opener.stack = []; // a frozen Error: as where the stack was not noted
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

/** Whether code of a program is among the nearest frames below `above`; a turn of the loop begins in Node's own. */
export const isInsideProgram = (above: (...args: never[]) => unknown): boolean =>
  sitesOf(note(WINDOW, above)).some((site) => {
    const file = site.getFileName();
    return file != null && !file.startsWith('node:');
  });

/** The stack at the birth of a promise, as an async hook finds it. */
export interface Birth {
  sites: Site[];
  /** Made by an `await` of the first frame, not by `then` or another built-in function. */
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

/** Whether the stack of a birth goes on below its first frame as an opener's does below frame `at`, as far as known. */
function sameBelow(birth: Site[], opened: Site[], at: number): boolean {
  for (let i = 1; ; i++) {
    const inBirth = i < birth.length;
    const inOpened = at + i < opened.length;
    // One that is shorter than what was asked for is known to its end.
    if (!inBirth) return !inOpened || birth.length >= WINDOW;
    if (!inOpened) return opened.length >= WINDOW;
    if (!samePlace(birth[i]!, opened[at + i]!)) return false;
  }
}

/**
 * Whether the opener's function is left where the promise is born: it awaits itself, or a function that called it does,
 * or it is a generator (what compilers make of async functions) that has yielded. An opener that was not noted counts as
 * left: then a tensor goes to the scope around it, which is later than it could be, never earlier.
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
