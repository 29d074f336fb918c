/** libtorch's warnings as Node's: `process.on('warning')` sees them, `--no-warnings` silences them. */
import { translated } from './libtorch-text';
import type { Native } from './native';
import { asUser } from './user-code';

/** As Python's default filter: the same text once. Bounded, since texts may hold figures. */
const MAX_TEXTS = 1000;
const seen = new Set<string>();

/**
 * Node emits it in the next tick, and until its stack has been spelt out an Error holds the `this` of every frame: the
 * tensor that warned, perhaps, with all its memory. So the stack is read here. The Error is one of Node's own realm, since
 * Node takes no other, and this module may be loaded in a vm context (Jest).
 */
function warningOf(text: string, code: string | undefined): Error {
  const { AssertionError } = require('node:assert') as typeof import('node:assert');
  const NodesError = Object.getPrototypeOf(AssertionError) as ErrorConstructor;
  const warning = new NodesError(text);
  warning.name = 'TorchWarning';
  if (code !== undefined) Object.assign(warning, { code });
  NodesError.captureStackTrace(warning, warningOf);
  String(warning.stack);
  return warning;
}

/** Warns of something, once for each text. `code`: where programs are to tell it from others. */
export function warn(text: string, code?: string): void {
  if (seen.has(text) || seen.size >= MAX_TEXTS) return;
  seen.add(text);
  const warning = warningOf(text, code);
  asUser(() => process.emitWarning(warning)); // a program may have one of its own
}

export function passOnWarnings(native: Native): void {
  native.setWarningSink((text) => warn(translated(text)));
}
