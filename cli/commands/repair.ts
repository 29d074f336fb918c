/** `leak-audit repair FILE`: copies the packets with correct checksums to a new capture. */
import * as fs from 'node:fs';
import { Command } from 'commander';
import { CaptureWriter, type Copied } from '../capture/copy';
import { Flag } from '../capture/format';
import { withFileName } from '../capture/reader';
import { ExitCode, UsageError } from '../errors/errors';
import { areSameFile, kindOf } from '../files/regular-file';
import { checkWritable } from '../terminal/output';
import { printable } from '../terminal/printable';
import { progress } from '../terminal/progress';
import { formatBytes, formatCount } from '../terminal/units';
import { print } from '../terminal/writers';

interface Options {
  output?: string;
}

export function repairCommand(done: (status: number) => void): Command {
  return new Command('repair')
    .description('Recovers the packets with correct checksums from a damaged capture.')
    .argument('<file>', 'capture file, which is not modified')
    .option('-o, --output <file>', 'file for the recovered capture (default: FILE.repaired)')
    .addHelpText(
      'after',
      `
The capture of a killed program needs no repair: a truncated end is skipped.
Lost packets remain recorded: \`check\` exits with 4.

Example:
  leak-audit repair capture.ltna -o whole.ltna`,
    )
    .action((file: string, options: Options) => {
      const output = options.output ?? `${file}.repaired`;
      const found = repair(file, output);
      progress.end();
      print(`${describe(found, output)}\n`);
      done(ExitCode.clean);
    });
}

function repair(file: string, output: string): Copied {
  checkWritable(output);
  withFileName(file, () => {
    const stat = fs.statSync(file);
    if (!stat.isFile()) throw new UsageError(`expected a capture, got ${kindOf(stat)}`);
    if (areSameFile(stat, fs.statSync(output, { throwIfNoEntry: false }))) {
      throw new UsageError('would be overwritten: name another file with -o');
    }
  });
  const writer = new CaptureWriter(output);
  try {
    const copied = withFileName(file, () => {
      const found = writer.copy(file, true, (bytes, size) => progress.bytes(`repairing ${file}`, bytes, size));
      if (!found.hasStart && (found.flags & Flag.reserved) === 0) {
        throw new UsageError('not a leak-audit capture (no start packet)');
      }
      return found;
    });
    writer.finish();
    return copied;
  } catch (error) {
    writer.abandon();
    throw error;
  }
}

function describe(found: Copied, output: string): string {
  const kept = `${printable(output)}: ${formatCount(found.rounds)} rounds in ${formatCount(found.packets)} packets recovered`;
  const bytes = found.skippedBytes + found.tornBytes;
  if (bytes === 0) return `${kept}; nothing was damaged`;
  const torn = found.tornBytes > 0 ? `, including a truncated end of ${formatBytes(found.tornBytes)}` : '';
  return `${kept}; lost: ${formatCount(found.damagedPackets)} packets, ${formatBytes(bytes)}${torn}`;
}
