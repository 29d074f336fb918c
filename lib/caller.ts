/** Errors point at the caller's line: the library's own frames at the top of a stack are left out. */
import * as path from 'node:path';
import { restoring } from './turn';

/**
 * This package's folders: dist/lib, where source maps say it comes from, and the wrappers of the binding that is loaded
 * (lib/wrappers.ts adds them).
 */
export const ownFolders = [__dirname, path.resolve(__dirname, '../../lib')].map((folder) => folder + path.sep);

/** Frames of ours above the caller's: wrappers, argument parser, scopes; and Node's own between them while we are loaded. */
const OWN_FRAMES = 24;

const FRAME = '\n    at ';
const isOwn = (frame: string) => ownFolders.some((folder) => frame.includes(folder));
/** Of Node or V8, such as `Array.map (<anonymous>)`. */
const isInternal = (frame: string) => frame.includes('node:') || frame.endsWith('(<anonymous>)');

/**
 * Takes the stack of `error` anew, as Node formats it (source maps, `Error.prepareStackTrace`), and leaves out what is
 * ours above the first frame of the program. Only errors pay for it.
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
    return; // a frozen Error: the stack that V8 took will do
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
  // A message may look like a frame.
  const end = stack.indexOf(message) + message.length;
  const [head, ...frames] = stack.slice(Math.max(end, 0)).split(FRAME);
  let first = 0;
  let ours = 0;
  while (first < frames.length) {
    if (isOwn(frames[first]!)) ours = first + 1;
    else if (!isInternal(frames[first]!)) break;
    first++;
  }
  // Called by Node alone, a timer say: then its frames are the caller's.
  const shown = frames.slice(first < frames.length ? first : ours).slice(0, limit);
  return [stack.slice(0, Math.max(end, 0)) + head, ...shown].join(FRAME);
}
