/** Modules of the library that are loaded when they are first used. */
import { ownFolders } from '../errors/caller';

/**
 * Whether Node itself has loaded this file: `module` is of its class, that of other loaders a plain object of some realm. Jest and
 * bundlers have loaders of their own, which may forget or move files in between; there everything is loaded at once.
 */
export const isNodes = Object.getPrototypeOf(Object.getPrototypeOf(module)) !== null;

/** Files that Node has loaded; some loaders have no cache. */
const cached = (): [string, NodeJS.Module | undefined][] => Object.entries(require.cache ?? {});
const isOwn = (file: string) => ownFolders.some((folder) => file.startsWith(folder));
let first: Set<string> | undefined;

/** Called when the library itself is loaded. */
export function startLate(): void {
  first = new Set(cached().map(([file]) => file));
}

/**
 * Calls `load`. If an earlier one was cut off (a `vm` timeout, which skips `finally`), what it had begun would be taken for
 * whole, so that is forgotten first.
 */
export function loading<T>(load: () => T): T {
  for (const [file, module] of cached()) {
    if (module?.loaded === false && isOwn(file) && first?.has(file) === false) delete require.cache[file];
  }
  return load();
}

/** Gives what `load` returns, which is called once: at the first use in Node, now elsewhere. If it throws, it is called again. */
export function lateModule<T extends object>(load: () => T): () => T {
  let loaded = isNodes ? undefined : load();
  return () => {
    loaded ??= loading(load);
    return loaded;
  };
}
