/** Programs that Node is part of (docs/runtimes.md). */

/**
 * Whether the process is a single executable application. Such a file runs its own program whatever script it is given, so a
 * child process of `process.execPath` would be the application once more, which would start the next one.
 */
export function isSingleExecutable(): boolean {
  try {
    return (require('node:sea') as typeof import('node:sea')).isSea();
  } catch {
    return false; // a runtime without this module
  }
}
