/** Wraps text to the width of a terminal. */
import { displayWidth } from './size';

/** Breaks at spaces; a word longer than a line is not split. Without `columns`, returns one line. */
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
