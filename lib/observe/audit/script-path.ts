/** The path of a script. V8 names ES modules by URL and all other files by path; so do source maps. */
import { fileURLToPath } from 'node:url';

/** `name` itself if it is not a file URL, or one that has no path, such as one with a host. */
export function scriptPath(name: string): string {
  if (!name.startsWith('file:')) return name;
  try {
    return fileURLToPath(name);
  } catch {
    return name; // fileURLToPath refuses hosts and encoded slashes
  }
}
