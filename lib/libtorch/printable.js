'use strict';
/** Escapes names of functions and files for terminal output, since they may contain control characters. */

/** Control characters, invisible and bidirectional formatting characters, line separators. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** One line without terminal control characters. The same as in cli/terminal/printable.ts. */
const printable = (text) =>
  text.replace(UNSAFE, (found) =>
    Array.from({ length: found.length }, (_, i) => `\\u${found.charCodeAt(i).toString(16).padStart(4, '0')}`).join(''),
  );

module.exports = { printable };
