/** `leak-audit run -- program …`: records a program from its start, shows it live, and reports at its end. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { Command, Option } from 'commander';
import { analyse } from '../analysis';
import { CaptureFollower } from '../capture/reader';
import { colorsFor } from '../colors';
import { ExitCode, UsageError } from '../errors';
import { checkWritable, showReport } from '../output';
import type { Report } from '../report';
import { LiveLines } from '../reporters/live';
import { dieBy, type Ending, runChild } from '../run/child';
import { parseDuration } from '../units';

interface Options {
  output?: string;
  mode: 'counters' | 'sample' | 'full';
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
    .option('--interval <duration>', 'how often a line is shown, e.g. 500ms, 1s', parseDuration, 1000)
    .option('--html <file>', 'also write the report as one offline page')
    .option('--json <file>', "also write the report as JSON ('-': to stdout, instead of the text)")
    .option('--check', 'exit with 1 when a leak was found and the program itself succeeded')
    .option('--quiet', 'no lines while the program runs')
    .addHelpText(
      'after',
      `
Exit status: the program's own when that is not 0 (or its signal); else 1 when --check is given and a leak was found;
else 0; 2 for wrong usage.

Examples:
  leak-audit run -- node server.js
  leak-audit run --check --json report.json -- npm start`,
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
  // The recorder only writes to a file that it created itself, so an old capture has to go.
  fs.rmSync(file, { force: true });
  let result: Result;
  try {
    result = await record(program, file, options);
  } finally {
    if (folder !== undefined) fs.rmSync(folder, { recursive: true, force: true });
  }
  const { ending, report } = result;
  if (ending.signal !== null) dieBy(ending.signal); // last: nothing after it is sure to run
  if (ending.code !== 0) return ending.code ?? 128;
  return options.check && report.verdict === 'leak' ? ExitCode.leak : ExitCode.clean;
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
  const wish = { file, mode: options.mode, intervalMs: Math.round(roundMs), command: program.join(' ') };
  const ending = await runChild(program, { [VARIABLE]: JSON.stringify(wish) }).finally(stopShowing);
  follower.poll();
  follower.close();

  const report = analyse(follower.capture);
  showReport(report, options);
  return { ending, report };
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
