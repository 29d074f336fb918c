/** `leak-audit repair FILE`: what the checksums vouch for, as a capture without damage. */
import * as fs from 'node:fs';
import { Command } from 'commander';
import { CaptureWriter, type Copied } from '../capture/copy';
import { Flag } from '../capture/format';
import { withPlace } from '../capture/reader';
import { ExitCode, UsageError } from '../errors';
import { checkWritable } from '../output';
import { printable } from '../printable';
import { progress } from '../progress';
import { formatBytes, formatCount } from '../units';
import { print } from '../writers';

interface Options {
  output?: string;
}

export function repairCommand(done: (status: number) => void): Command {
  return new Command('repair')
    .description('Recovers from a damaged capture what its checksums vouch for.')
    .argument('<file>', 'the capture; it stays as it is')
    .option('-o, --output <file>', 'where the recovered capture goes (default: FILE.repaired)')
    .addHelpText(
      'after',
      `
A capture of a program that was killed needs no repair: a torn end is skipped.
What was lost stays known: \`check\` exits with 4 for it.

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
  withPlace(file, () => {
    const stat = fs.statSync(file);
    if (stat.isDirectory()) throw new UsageError('a folder, not a capture');
    if (!stat.isFile()) throw new UsageError('not a leak-audit capture (no regular file)');
    if (stat.ino === fs.statSync(output, { throwIfNoEntry: false })?.ino) {
      throw new UsageError('would be overwritten: name another file with -o');
    }
  });
  const writer = new CaptureWriter(output);
  try {
    const copied = withPlace(file, () => {
      const found = writer.copy(file, true, (bytes, size) => progress.bytes(`repairing ${file}`, bytes, size));
      if (!found.hasStart && (found.flags & Flag.reserved) === 0) {
        throw new UsageError('not a leak-audit capture (nothing in it says which process it is of)');
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
  const kept = `${printable(output)}: ${formatCount(found.rounds)} rounds in ${formatCount(found.packets)} packets kept`;
  const bytes = found.skippedBytes + found.tornBytes;
  if (bytes === 0) return `${kept}; nothing was damaged`;
  const torn = found.tornBytes > 0 ? `, ${formatBytes(found.tornBytes)} of them a torn end` : '';
  return `${kept}; lost: ${formatCount(found.damagedPackets)} packets, ${formatBytes(bytes)}${torn}`;
}
