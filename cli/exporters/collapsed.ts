/** Collapsed stacks for flamegraph.pl, inferno and speedscope: `outer;inner bytes` per line. */

import { bytesOf, functionName, type StackTotals, type StackValue } from '../analysis/stacks';
import type { Frame } from '../capture/records';
import { printable } from '../terminal/printable';
import type { Format } from './format';

/** Semicolons separate frames and line ends separate stacks, so names cannot contain them. */
const clean = (text: string) => printable(text.replace(/[;\r\n]+/g, ' '));

const nameOf = (frame: Frame) =>
  clean(frame.line === 0 ? frame.file : `${functionName(frame)} (${frame.file}:${frame.line}:${frame.column})`);

export function renderCollapsed(stacks: StackTotals[], value: StackValue): string {
  const lines = new Map<string, number>();
  for (const stack of stacks) {
    const bytes = Math.round(bytesOf(stack, value));
    if (bytes <= 0) continue;
    const key = stack.frames.map(nameOf).reverse().join(';');
    lines.set(key, (lines.get(key) ?? 0) + bytes);
  }
  return [...lines].map(([stack, bytes]) => `${stack} ${bytes}\n`).join('');
}

export const collapsed: Format = {
  name: 'collapsed',
  description: 'collapsed stacks with bytes, for flamegraph.pl and inferno',
  render: ({ stacks, value }) => renderCollapsed(stacks, value),
};
