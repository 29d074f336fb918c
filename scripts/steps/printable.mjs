/** Text that comes from paths, variables and compilers, made harmless for a terminal, as cli/printable.ts does it. */

/** Colours, which go; control characters, invisible ones and those that turn text around, which become visible. */
const COLOR = String.raw`\u001b\[[\d;]*m`;
const UNSAFE = new RegExp(String.raw`\r?\n|${COLOR}|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]`, 'gu');

const escaped = (character) =>
  Array.from(
    { length: character.length },
    (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`,
  ).join('');

/**
 * Lines that do nothing to a terminal.
 * @param {string} text
 */
export const printable = (text) =>
  text.replace(UNSAFE, (found) => {
    if (found.endsWith('\n') || found === '\t') return found;
    return found.length > 2 ? '' : escaped(found);
  });
