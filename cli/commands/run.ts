/** `leak-audit run -- program …`: records a program from its start, shows it live, and reports at its end. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { Command, Option } from 'commander';
import { analyse } from '../analysis';
import type { Capture } from '../capture/capture';
import { Flag, fileHeader } from '../capture/format';
import { joinChildren, removeChildren } from '../capture/join';
import { CaptureFollower, readCapture } from '../capture/reader';
import { colorsFor } from '../colors';
import { ExitCode, UsageError } from '../errors';
import { checkWritable, showReport } from '../output';
import type { Report } from '../report';
import { LiveLines } from '../reporters/live';
import { dieBy, type Ending, runChild } from '../run/child';
import { formatBytes, formatCount, parseBytes, parseCount, parseDuration } from '../units';

interface Options {
  output?: string;
  mode: 'counters' | 'sample' | 'full';
  sampleBytes: number;
  frames: number;
  maxSize?: number;
  followChildren?: boolean;
  interval: number;
  html?: string;
  json?: string;
  check?: boolean;
  quiet?: boolean;
}

/** lib/audit.ts reads and removes it. */
const VARIABLE = 'LIBTORCH_NODE_AUDIT';
/** More rounds than lines: a verdict needs many points, a reader few. */
const ROUNDS_PER_LINE = 4;
const LEAST_ROUND_MS = 100;
const MOST_ROUND_MS = 1000;

export function runCommand(done: (status: number) => void): Command {
  return new Command('run')
    .description('Runs a program, shows its living tensors on stderr, and prints a report when it has ended.')
    .usage('[options] -- node app.js …')
    .argument('[program...]', 'the program and its arguments')
    .passThroughOptions()
    .option('-o, --output <file>', 'keep the capture (for `leak-audit report` and `check`)')
    .addOption(
      new Option('--mode <mode>', 'full: every tensor with its stack; sample: by bytes; counters: totals only')
        .choices(['counters', 'sample', 'full'])
        .default('full'),
    )
    .option(
      '--sample-bytes <bytes>',
      'mean distance of samples; what is as large is always recorded',
      parseBytes,
      524_288,
    )
    .option('--frames <n>', 'frames of a stack, 1 to 64: fewer are cheaper', parseFrames, 16)
    .option(
      '--max-size <bytes>',
      'the most that the capture of a process may take on the disk, e.g. 64MiB',
      parseMaxSize,
    )
    .option('--follow-children', 'also record the processes that the program starts, in the same capture')
    .option('--interval <duration>', 'how often a line is shown, e.g. 500ms, 1s', parseDuration, 1000)
    .option('--html <file>', 'also write the report as one offline page')
    .option('--json <file>', "also write the report as JSON ('-': to stdout, instead of the text)")
    .option('--check', 'exit with 1 when a leak was found and the program itself succeeded')
    .option('--quiet', 'no lines while the program runs')
    .addHelpText(
      'after',
      `
Exit status: the program's own when that is not 0 (or its signal); else 1 when --check is given and a leak was found;
4 when --check is given and events were lost; else 0; 2 for wrong usage.

Examples:
  leak-audit run -- node server.js
  leak-audit run --check --json report.json -- npm start
  leak-audit run --mode sample --max-size 64MiB -o capture.ltna -- node server.js`,
    )
    .action(async (program: string[], options: Options) => {
      done(await run(program, options));
    });
}

async function run(program: string[], options: Options): Promise<number> {
  if (program.length === 0) throw new UsageError('no program given: leak-audit run [options] -- node app.js …');
  checkWritable(options.html);
  checkWritable(options.json);
  checkWritable(options.output);
  const folder = options.output === undefined ? fs.mkdtempSync(path.join(os.tmpdir(), 'leak-audit-')) : undefined;
  const file = folder === undefined ? path.resolve(options.output!) : path.join(folder, 'capture.ltna');
  reserve(file);
  let result: Result;
  try {
    result = await record(program, file, options);
  } finally {
    if (folder !== undefined) fs.rmSync(folder, { recursive: true, force: true });
  }
  const { ending, report } = result;
  if (ending.signal !== null) dieBy(ending.signal); // last: nothing after it is sure to run
  if (ending.code !== 0) return ending.code ?? 128;
  if (!options.check) return ExitCode.clean;
  if (report.verdict === 'leak') return ExitCode.leak;
  return report.summary.lostEvents > 0 ? ExitCode.lostEvents : ExitCode.clean;
}

/**
 * Makes the file that the first process of the program claims. So a disk without room is found before the program runs,
 * and a program that could not record is told from one that made no tensors.
 */
function reserve(file: string): void {
  removeChildren(file);
  try {
    fs.rmSync(file, { force: true }); // an old capture
    fs.writeFileSync(file, fileHeader(Flag.reserved), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    throw new UsageError(`cannot write ${file}: ${(error as NodeJS.ErrnoException).code ?? error}`);
  }
}

/** Below it there is no room for the stacks of a program. */
const LEAST_MAX_SIZE = 256 * 1024;

function parseMaxSize(text: string): number {
  const bytes = parseBytes(text);
  if (bytes < LEAST_MAX_SIZE) throw new UsageError(`--max-size ${text} is less than ${formatBytes(LEAST_MAX_SIZE)}`);
  return bytes;
}

const MOST_FRAMES = 64;

function parseFrames(text: string): number {
  const frames = parseCount(text);
  if (frames < 1 || frames > MOST_FRAMES) throw new UsageError(`--frames ${text} is not between 1 and ${MOST_FRAMES}`);
  return frames;
}

interface Result {
  ending: Ending;
  report: Report;
}

async function record(program: string[], file: string, options: Options): Promise<Result> {
  const follower = new CaptureFollower(file);
  const stopShowing = options.quiet ? () => {} : showLive(follower, options.interval);
  const wanted = Math.min(MOST_ROUND_MS, Math.max(LEAST_ROUND_MS, options.interval / ROUNDS_PER_LINE));
  const roundMs = Math.min(options.interval, wanted);
  const wish = {
    file,
    mode: options.mode,
    intervalMs: Math.round(roundMs),
    sampleBytes: options.sampleBytes,
    depth: options.frames,
    maxBytes: options.maxSize ?? 0,
    followChildren: options.followChildren === true,
    command: program.join(' '),
  };
  const ending = await runChild(program, { [VARIABLE]: JSON.stringify(wish) }).finally(stopShowing);
  const capture = whole(file, follower);

  const report = analyse(capture);
  showReport(report, capture, options);
  if (report.summary.lostEvents > 0) {
    const { red } = colorsFor(process.stderr);
    const lost = `${formatCount(report.summary.lostEvents)} events or more were lost`;
    process.stderr.write(`${red('leak-audit:')} ${lost}: what the report says of them is missing\n`);
  }
  return { ending, report };
}

/** The capture of all processes, once they have ended. */
function whole(file: string, follower: CaptureFollower): Capture {
  if (joinChildren(file) > 0) {
    follower.close();
    return readCapture(file);
  }
  follower.poll();
  follower.close();
  return follower.finish();
}

/** Shows the latest round at every interval; returns what ends it. */
function showLive(follower: CaptureFollower, interval: number): () => void {
  const lines = new LiveLines((text) => process.stderr.write(text), colorsFor(process.stderr));
  let shown = -1;
  const show = () => {
    follower.poll();
    const tick = follower.capture.ticks.at(-1);
    if (tick === undefined || tick.ms === shown) return;
    shown = tick.ms;
    lines.show(tick);
  };
  const timer = setInterval(show, interval);
  return () => {
    clearInterval(timer);
    show();
  };
}
