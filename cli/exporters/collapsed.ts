/** Collapsed stacks, `outer;inner bytes` a line: flamegraph.pl, inferno, speedscope. */
import type { Frame } from '../capture/capture';
import { printable } from '../printable';
import { bytesOf, functionName, type StackTotals, type StackValue } from '../stacks';

/** Semicolons part frames and line ends part stacks, so neither can be in a name. */
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
