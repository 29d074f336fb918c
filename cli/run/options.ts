/** What `run` and `attach` can be told about recording. */
import { type Command, Option } from 'commander';
import { UsageError } from '../errors';
import { formatBytes, parseBytes, parseCount, parseDuration } from '../units';

export interface RecordingOptions {
  mode: 'counters' | 'sample' | 'full';
  sampleBytes: number;
  frames: number;
  maxSize?: number;
  interval: number;
}

/** More rounds than lines: a verdict needs many points, a reader few. */
const ROUNDS_PER_LINE = 4;
const MIN_ROUND_MS = 100;
const MAX_ROUND_MS = 1000;
/** Below it there is no room for the stacks of a program. */
const MIN_MAX_SIZE = 256 * 1024;
const MAX_FRAMES = 64;

export function modeOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--mode <mode>', 'full: every tensor with its stack; sample: by bytes; counters: totals only')
        .choices(['counters', 'sample', 'full'])
        .default('full'),
    )
    .addOption(
      new Option('--sample-bytes <bytes>', 'mean distance of samples; what is as large is always recorded')
        .argParser(parseBytes)
        .default(524_288, '512KiB'),
    )
    .option('--frames <n>', 'frames of a stack, 1 to 64: fewer are cheaper', parseFrames, 16)
    .option(
      '--max-size <bytes>',
      'the most that the capture of a process may take on the disk, e.g. 64MiB',
      parseMaxSize,
    );
}

export function intervalOption(command: Command): Command {
  return command.addOption(
    new Option('--interval <duration>', 'how often a line is shown, e.g. 500ms')
      .argParser(parseDuration)
      .default(1000, '1s'),
  );
}

/** How often a round is recorded. */
export function roundMs({ interval }: RecordingOptions): number {
  const wanted = Math.min(MAX_ROUND_MS, Math.max(MIN_ROUND_MS, interval / ROUNDS_PER_LINE));
  return Math.round(Math.min(interval, wanted));
}

function parseMaxSize(text: string): number {
  const bytes = parseBytes(text);
  if (bytes < MIN_MAX_SIZE) throw new UsageError(`--max-size ${text} is less than ${formatBytes(MIN_MAX_SIZE)}`);
  return bytes;
}

function parseFrames(text: string): number {
  const frames = parseCount(text);
  if (frames < 1 || frames > MAX_FRAMES) throw new UsageError(`--frames ${text} is not between 1 and ${MAX_FRAMES}`);
  return frames;
}
