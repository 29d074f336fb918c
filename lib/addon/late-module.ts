/** Modules of the library that are loaded when they are first used. */
import { ownFolders } from '../errors/caller';
import { restoring } from '../errors/restoring';

/**
 * Whether Node itself has loaded this file: `module` is of its class, that of other loaders a plain object of some realm. Jest and
 * bundlers have loaders of their own, which may forget or move files in between; there everything is loaded at once.
 */
export const isNodes = Object.getPrototypeOf(Object.getPrototypeOf(module)) !== null;

/** The modules of this copy of the library, by file; none before startLate(). */
let own = new Map<string, NodeJS.Module | undefined>();

const isOwn = (file: string) => ownFolders.some((folder) => file.startsWith(folder));

/** The library's modules that Node has loaded, of any copy; some loaders have no cache. */
const cached = (): [string, NodeJS.Module | undefined][] =>
  Object.entries(require.cache ?? {}).filter(([file]) => isOwn(file));

/** Called when the library itself is loaded. */
export function startLate(): void {
  own = new Map(cached());
}

function put(modules: Iterable<[string, NodeJS.Module | undefined]>): void {
  for (const [file] of cached()) delete require.cache[file];
  for (const [file, module] of modules) require.cache[file] = module;
}

/**
 * Calls `load`, which requires modules of this copy of the library.
 *
 * - If an earlier load was cut off (a `vm` timeout, which skips `finally`), what it had begun would be taken for whole, so that is
 *   forgotten first.
 * - If the program has emptied Node's cache, or another copy has filled it, the modules would get those of another copy. So the
 *   cache is that of this copy meanwhile.
 */
export function loading<T>(load: () => T): T {
  const before = cached();
  for (const [file, module] of before) {
    if (module?.loaded === false && own.size > 0 && !own.has(file)) delete require.cache[file];
  }
  if (![...own].every(([file, module]) => require.cache[file] === module)) {
    return restoring(
      () => put(before),
      () => {
        put(own);
        const loaded = load();
        own = new Map(cached());
        return loaded;
      },
    );
  }
  const loaded = load();
  if (own.size > 0) own = new Map(cached());
  return loaded;
}

/**
 * Returns a function that gives the result of `load`. In Node, `load` runs at the first use; elsewhere it runs now. If it throws,
 * the next use calls it again.
 */
export function lateModule<T extends object>(load: () => T): () => T {
  let loaded = isNodes ? undefined : load();
  return () => {
    loaded ??= loading(load);
    return loaded;
  };
}
