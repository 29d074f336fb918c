/** File arguments: a path or a file: URL, by Node's rules, and their position among a saver's arguments. */
import { fileURLToPath } from 'node:url';
import type { FileUrl } from '../../types/base';
import { argumentError, refusal } from '../errors/errors';

export type FilePath = string | FileUrl;

const A_PATH = 'a path or a file: URL';

/** Accepts only genuine URL objects: the getter checks the object's internal slot, not its properties. */
const hrefOf = Object.getOwnPropertyDescriptor(URL.prototype, 'href')!.get!;

function urlOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  try {
    return hrefOf.call(value) as string;
  } catch {
    return undefined; // another kind of object
  }
}

const isPath = (value: unknown): value is FilePath => typeof value === 'string' || urlOf(value) !== undefined;

/** The path of an argument; undefined for a value that is neither a path nor a URL. */
export function pathIn(fn: string, argument: string, value: unknown): string | undefined {
  const url = typeof value === 'string' ? undefined : urlOf(value);
  const path = url === undefined ? value : pathOfUrl(fn, argument, url);
  if (typeof path !== 'string') return undefined;
  // Node's own error for it has another code, and does not name the function.
  if (path.includes('\0')) throw refusal(fn, argument, A_PATH, 'a null byte in it');
  return path;
}

function pathOfUrl(fn: string, argument: string, url: string): string {
  try {
    return fileURLToPath(url);
  } catch (error) {
    // Another scheme, a host or an encoded slash: Node's message.
    throw Object.assign(refusal(fn, argument, A_PATH, `'${url.slice(0, 200)}': ${(error as Error).message}`), {
      cause: error,
    });
  }
}

export function pathOf(fn: string, argument: string, value: unknown): string {
  const path = pathIn(fn, argument, value);
  if (path === undefined) throw argumentError(fn, argument, A_PATH, value);
  return path;
}

/**
 * The arguments of a saver, in PyTorch's order: value, then path. The reverse order is accepted if only the first argument
 * is a path.
 */
export function valueAndPath(fn: string, first: unknown, second: unknown): { value: unknown; path: string } {
  if (!isPath(second) && second !== undefined && isPath(first))
    return { value: second, path: pathOf(fn, 'path', first) };
  return { value: first, path: pathOf(fn, 'path', second) };
}
