/** libtorch's warnings as Node's: `process.on('warning')` sees them, `--no-warnings` silences them. */

import type { Native } from '../addon/native';
import { asUser } from '../lifetimes/user-code';
import { translated } from './libtorch-text';

/** Like Python's default filter, each text is shown once. Bounded, since texts may contain figures. */
const MAX_TEXTS = 1000;
const seen = new Set<string>();

/**
 * Node emits a warning in the next tick, and an Error holds the `this` of every frame until its stack is formatted: possibly
 * a tensor with all its memory. So the stack is read here. The Error is of Node's own realm, since Node accepts no other, and
 * this module may be loaded in a vm context (Jest).
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

/** Emits a warning, once per text. `code`: if programs need to distinguish it. */
export function warn(text: string, code?: string): void {
  if (seen.has(text) || seen.size >= MAX_TEXTS) return;
  seen.add(text);
  const warning = warningOf(text, code);
  asUser(() => process.emitWarning(warning)); // a program may have replaced emitWarning
}

export function passOnWarnings(native: Native): void {
  native.setWarningSink((text) => warn(translated(text)));
}
