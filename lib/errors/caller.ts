/** Makes errors point at the caller's line: removes the library's own frames at the top of the stack. */
import * as path from 'node:path';
import { restoring } from './restoring';

/**
 * This package's folders: dist/lib, its sources according to source maps, and the wrappers of the binding that is loaded
 * (lib/addon/wrappers.ts adds them).
 */
export const ownFolders = ['..', '../../../lib']
  .map((to) => path.resolve(__dirname, to))
  .map((folder) => folder + path.sep);

/** The most frames above the caller's: wrappers, argument parser, scopes, and Node's own during loading. */
const OWN_FRAMES = 24;

const FRAME = '\n    at ';
const isOwn = (frame: string) => ownFolders.some((folder) => frame.includes(folder));
/** Frames of Node or V8, such as `Array.map (<anonymous>)`. */
const isInternal = (frame: string) => frame.includes('node:') || frame.endsWith('(<anonymous>)');

/**
 * Captures the stack of `error` again, as Node formats it (source maps, `Error.prepareStackTrace`), and removes the library's
 * frames above the first frame of the program.
 */
export function pointAtCaller(error: Error, below: (...args: never[]) => unknown): void {
  const limit = Error.stackTraceLimit;
  if (typeof limit !== 'number' || !(limit > 0)) return;
  const undo = () => restore(limit);
  try {
    restoring(undo, () => {
      Error.stackTraceLimit = limit + OWN_FRAMES;
      Error.captureStackTrace(error, below);
    });
  } catch {
    return; // a frozen Error: keep the stack that V8 captured
  }
  const { stack } = error as { stack?: unknown };
  if (typeof stack === 'string') error.stack = withoutOwn(stack, error, limit);
}

function restore(limit: number): void {
  try {
    Error.stackTraceLimit = limit;
  } catch {
    // Frozen: nothing was changed either.
  }
}

function withoutOwn(stack: string, { message }: Error, limit: number): string {
  // The message may look like a frame.
  const end = stack.indexOf(message) + message.length;
  const [head, ...frames] = stack.slice(Math.max(end, 0)).split(FRAME);
  let first = 0;
  let ours = 0;
  while (first < frames.length) {
    if (isOwn(frames[first]!)) ours = first + 1;
    else if (!isInternal(frames[first]!)) break;
    first++;
  }
  // Called only by Node, for example from a timer: then its frames are the caller's.
  const shown = frames.slice(first < frames.length ? first : ours).slice(0, limit);
  return [stack.slice(0, Math.max(end, 0)) + head, ...shown].join(FRAME);
}
