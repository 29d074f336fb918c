/** The text of TensorLogger's reports. */
import type { TensorReport } from './logger';

const UNITS = ['kB', 'MB', 'GB', 'TB', 'PB'];

/** "812 B", "1.5 MB": powers of 1000. */
function bytesText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  let value = bytes;
  let unit = -1;
  do {
    value /= 1000;
    unit++;
  } while (value >= 999.95 && unit < UNITS.length - 1);
  return `${value.toFixed(1)} ${UNITS[unit]}`;
}

function msText(ms: number): string {
  if (ms < 1000) return `${Math.floor(ms)} ms`;
  if (ms < 60_000) return `${+(ms / 1000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${+(ms / 60_000).toFixed(1)} min`;
  return `${+(ms / 3_600_000).toFixed(1)} h`;
}

const plural = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** "<1 s: 3, 1 s–10 s: 2, ≥1 h: 1, unknown, made while no logger ran: 4"; empty classes are omitted. */
function agesText({ ages, unknownAge }: TensorReport): string {
  const parts = ages
    .filter(({ tensors }) => tensors > 0)
    .map(({ fromMs, toMs, tensors }) => {
      if (fromMs === 0) return `<${msText(toMs)}: ${tensors}`;
      return toMs === Number.POSITIVE_INFINITY
        ? `≥${msText(fromMs)}: ${tensors}`
        : `${msText(fromMs)}–${msText(toMs)}: ${tensors}`;
    });
  if (unknownAge > 0) parts.push(`unknown, made while no logger ran: ${unknownAge}`);
  return parts.join(', ');
}

export function reportText(report: TensorReport): string {
  const { tensors, storages, bytes, groups, details } = report;
  const lines = [`TensorLogger: ${plural(tensors, 'tensor')}, ${bytesText(bytes)} in ${plural(storages, 'storage')}`];
  for (const group of groups) {
    lines.push(`  ${group.dtype} ${group.device}: ${plural(group.tensors, 'tensor')}, ${bytesText(group.bytes)}`);
  }
  if (tensors > 0) lines.push(`  age ${agesText(report)}`);
  for (const { dtype, device, shape, storageBytes, ageMs, stack } of details) {
    const size = shape === null ? '[nested]' : `[${shape.join(', ')}]`;
    lines.push(`  ${dtype}${size} ${device}, storage of ${bytesText(storageBytes)}, ${msText(ageMs)} old`);
    lines.push(stack ?? '    (its stack was not sampled)');
  }
  return lines.join('\n');
}
