/** The names and paths of scripts. V8 names ES modules by URL and all other files by path; so do source maps. */
import { fileURLToPath } from 'node:url';

/** What V8 says of the script of a call site. Declared here, because the package's types do not use Node's. */
interface ScriptNames {
  getFileName(): string | null | undefined;
  getScriptNameOrSourceURL(): unknown;
}

/** The name of the script; null without any. Evaluated code has no file; a bundler names its module (`sourceURL`). */
export const nameOfScript = (site: ScriptNames): string | null =>
  site.getFileName() ?? (site.getScriptNameOrSourceURL() as string | null | undefined) ?? null;

/** `name` itself if it is not a file URL, or one that has no path, such as one with a host. */
export function scriptPath(name: string): string {
  if (!name.startsWith('file:')) return name;
  try {
    return fileURLToPath(name);
  } catch {
    return name; // fileURLToPath refuses hosts and encoded slashes
  }
}
