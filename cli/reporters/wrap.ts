/** Prose in lines of a terminal's width. */
import { displayWidth } from '../terminal';

/** Breaks at spaces; a word that is longer than a line stays whole. Without `columns`, one line. */
export function wrap(text: string, columns = Number.POSITIVE_INFINITY, indent = ''): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line.trim() !== '' && displayWidth(line) + 1 + displayWidth(word) > columns) {
      lines.push(line);
      line = indent + word;
    } else line = lines.length + line.length === 0 ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
