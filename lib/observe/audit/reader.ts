/** How processes are started that run a program of this package, to read a heap or a capture. */
import * as nodeModule from 'node:module';

interface PackageFinder {
  resolveToUnqualified(name: string, from: null): string | null;
}

/** For Node, before the path of the program. `env` lacks NODE_OPTIONS: its preloads are meant for the user's program. */
export function readerOptions(): { flags: string[]; env: Record<string, string | undefined> } {
  const { NODE_OPTIONS: _options, ...env } = process.env;
  const hooks = plugAndPlay();
  return { flags: hooks === undefined ? [] : ['--require', hooks], env };
}

/**
 * The file by which Node finds packages in a project without node_modules (Plug'n'Play of yarn and pnpm), which NODE_OPTIONS
 * preloads. The programs of this package need it too, to find its dependencies.
 */
function plugAndPlay(): string | undefined {
  const { findPnpApi } = nodeModule as { findPnpApi?(file: string): PackageFinder | null };
  try {
    return findPnpApi?.(__filename)?.resolveToUnqualified('pnpapi', null) ?? undefined;
  } catch {
    return undefined; // something else of that name: the reader says what it does not find
  }
}
