/** Recording options of `run` and `attach`. */
import { type Command, Option } from 'commander';
import { UsageError } from '../errors/errors';
import { MAX_TIMER_MS } from '../terminal/timers';
import { formatBytes, parseBytes, parseCount, parseDuration } from '../terminal/units';

export interface RecordingOptions {
  mode: 'counters' | 'sample' | 'full';
  /** Undefined: adapted to a budget of cost, at most DEFAULT_SAMPLE_BYTES. */
  sampleBytes?: number;
  frames: number;
  maxSize?: number;
  interval: number;
}

/** A verdict needs more points than the live lines show. */
const ROUNDS_PER_LINE = 4;
const MIN_ROUND_MS = 100;
const MAX_ROUND_MS = 1000;
/** The largest distance between samples if it is adapted. */
const DEFAULT_SAMPLE_BYTES = 524_288;
/** The smallest size that holds the stacks of a program. */
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
      new Option(
        '--sample-bytes <bytes>',
        'with --mode sample: mean bytes between samples; larger storages are always recorded (default: every storage at first, later a distance ' +
          'that costs about 0.25% of a processor, at most 512KiB)',
      ).argParser(parseBytes),
    )
    .option('--frames <n>', 'frames per stack, 1 to 64; fewer cost less', parseFrames, 16)
    .option('--max-size <bytes>', 'maximum size of the capture of a process, e.g. 64MiB', parseMaxSize);
}

function parseInterval(text: string): number {
  const ms = parseDuration(text);
  if (ms > MAX_TIMER_MS) throw new UsageError(`--interval: expected at most 596h, got ${text}`);
  return ms;
}

export function intervalOption(command: Command): Command {
  return command.addOption(
    new Option(
      '--interval <duration>',
      'time between live lines, e.g. 500ms; the rounds of the capture take a quarter of it, from 100ms to 1s',
    )
      .argParser(parseInterval)
      .default(1000, '1s'),
  );
}

export function checkSampling({ mode, sampleBytes }: RecordingOptions): void {
  if (sampleBytes !== undefined && mode !== 'sample')
    throw new UsageError(`--sample-bytes: expected --mode sample beside it, got --mode ${mode}`);
}

/** What `--sample-bytes` means to the recorder. */
export const samplingOf = ({ sampleBytes }: RecordingOptions) => ({
  sampleBytes: sampleBytes ?? DEFAULT_SAMPLE_BYTES,
  adaptDistance: sampleBytes === undefined ? 1 : 0,
});

/** Time between recorded rounds. */
export function roundMs({ interval }: RecordingOptions): number {
  const wanted = Math.min(MAX_ROUND_MS, Math.max(MIN_ROUND_MS, interval / ROUNDS_PER_LINE));
  return Math.round(Math.min(interval, wanted));
}

function parseMaxSize(text: string): number {
  const bytes = parseBytes(text);
  if (bytes < MIN_MAX_SIZE)
    throw new UsageError(`--max-size: expected at least ${formatBytes(MIN_MAX_SIZE)}, got ${text}`);
  return bytes;
}

function parseFrames(text: string): number {
  const frames = parseCount(text);
  if (frames < 1 || frames > MAX_FRAMES) throw new UsageError(`--frames: expected 1 to ${MAX_FRAMES}, got ${text}`);
  return frames;
}
