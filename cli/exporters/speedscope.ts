/** speedscope's own format (https://www.speedscope.app), with a profile per value. */

import type { Summary } from '../analysis/report';
import { bytesOf, functionName, STACK_VALUES, type StackTotals } from '../analysis/stacks';
import type { Frame } from '../capture/records';
import { version } from '../files/version';
import { jsonText } from '../terminal/printable';
import type { Format } from './format';

const TITLES = { live: 'live bytes', allocated: 'allocated bytes', growth: 'growth in bytes' } as const;

export function renderSpeedscope(stacks: StackTotals[], summary: Summary): string {
  const frames: object[] = [];
  const numbers = new Map<string, number>();
  const frameOf = (frame: Frame): number => {
    const key = `${frame.function}\0${frame.file}\0${frame.line}\0${frame.column}`;
    let number = numbers.get(key);
    if (number === undefined) {
      const place = frame.line === 0 ? {} : { file: frame.file, line: frame.line, col: frame.column };
      number = frames.push({ name: functionName(frame), ...place }) - 1;
      numbers.set(key, number);
    }
    return number;
  };
  const profiles = STACK_VALUES.map((value) => {
    // A frame cannot have a negative width, so stacks that shrank are omitted.
    const shown = stacks.filter((stack) => bytesOf(stack, value) > 0);
    const weights = shown.map((stack) => bytesOf(stack, value));
    return {
      type: 'sampled',
      name: TITLES[value],
      unit: 'bytes',
      startValue: 0,
      endValue: weights.reduce((sum, weight) => sum + weight, 0),
      samples: shown.map((stack) => stack.frames.map(frameOf).reverse()),
      weights,
    };
  });
  return `${jsonText({
    $schema: 'https://www.speedscope.app/file-format-schema.json',
    name: summary.command || 'leak-audit',
    exporter: `leak-audit@${version()}`,
    activeProfileIndex: 0,
    shared: { frames },
    profiles,
  })}\n`;
}

export const speedscope: Format = {
  name: 'speedscope',
  description: 'speedscope.app: live, allocated and grown bytes by stack',
  render: ({ stacks, report }) => renderSpeedscope(stacks, report.summary),
};
