'use strict';
/** Names of functions and files, for text that goes to a terminal: they may be anything, and must not steer it. */

/** Control characters, invisible ones and those that change the direction, separators of lines: as visible escapes. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** One line that does nothing to a terminal. The same as in cli/printable.ts. */
const printable = (text) =>
  text.replace(UNSAFE, (found) =>
    Array.from({ length: found.length }, (_, i) => `\\u${found.charCodeAt(i).toString(16).padStart(4, '0')}`).join(''),
  );

module.exports = { printable };
