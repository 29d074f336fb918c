/** The processes that can be attached to, as text. */
import type { ProcessList } from '../attach/processes';
import { renderTable } from '../terminal/table';
import { formatBytes, formatCount } from '../terminal/units';
import type { TextOptions } from '../wording/options';

const right = (title: string, optional = false) => ({ title, align: 'right' as const, optional });

export function renderProcesses({ processes, silent }: ProcessList, { colors, columns }: TextOptions): string {
  const lines =
    processes.length === 0
      ? silent.length === 0
        ? ['no process of this user has loaded libtorch-node']
        : []
      : renderTable(
          [
            right('pid'),
            right('tensors'),
            right('live bytes'),
            right('growth/min'),
            right('rss', true),
            { title: 'recorded', align: 'left', optional: true },
            { title: 'command', align: 'left' },
          ],
          processes.map((one) => [
            String(one.pid),
            formatCount(one.tensors),
            formatBytes(one.bytes),
            one.bytesPerMinute === 0 ? '-' : formatBytes(one.bytesPerMinute),
            formatBytes(one.rss),
            one.recordedBy === null ? '-' : `by ${one.recordedBy}`,
            one.command,
          ]),
          colors.dim,
          columns,
        );
  for (const { reason } of silent) lines.push(colors.dim(reason));
  return `${lines.join('\n')}\n`;
}
