/** Makes text from paths, variables and compilers safe for a terminal, as cli/terminal/printable.ts does. */

/** Colours are removed; control, invisible and bidirectional characters are escaped. */
const COLOR = String.raw`\u001b\[[\d;]*m`;
const UNSAFE = new RegExp(String.raw`\r?\n|${COLOR}|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]`, 'gu');

const escaped = (character) =>
  Array.from(
    { length: character.length },
    (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`,
  ).join('');

/**
 * Removes or escapes everything that controls a terminal, except line ends and tabs.
 * @param {string} text
 */
export const printable = (text) =>
  text.replace(UNSAFE, (found) => {
    if (found.endsWith('\n') || found === '\t') return found;
    return found.length > 2 ? '' : escaped(found);
  });
