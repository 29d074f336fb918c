/** `leak-audit run -- program …`: records a program from its start, shows live figures, and prints a report at its end. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { Command } from 'commander';
import type { Report } from '../analysis/report';
import { watchUnrecorded } from '../attach/unrecorded';
import type { Capture } from '../capture/capture';
import { condense } from '../capture/condense';
import { joinChildren, removeChildren } from '../capture/join';
import { type LoadedCapture, loadCapture, loadFollowed } from '../capture/load';
import { CaptureFollower } from '../capture/reader';
import { recorderOf, reserve, reserveTemporary } from '../capture/reserve';
import { ExitCode, UsageError } from '../errors/errors';
import { type Ending, exitBySignal, runChild } from '../run/child';
import { checkSampling, intervalOption, modeOptions, type RecordingOptions, roundMs, samplingOf } from '../run/options';
import { reportCapture, showLive } from '../run/show';
import { colorsFor } from '../terminal/colors';
import { checkDistinct, checkOutput, checkWritable } from '../terminal/output';
import { printError } from '../terminal/writers';
import { WasmRecording } from '../wasm/recording';
import { withWasm } from '../wasm/report';
import { HeapAtEnd } from '../why/at-end';
import { keepBeside, removeBeside } from '../why/kept';
import { HeldWhileRunning } from '../why/while-running';

interface Options extends RecordingOptions {
  allFrames?: boolean;
  output?: string;
  followChildren?: boolean;
  html?: string;
  json?: string;
  check?: boolean;
  quiet?: boolean;
  why?: boolean;
  wasm?: boolean;
}

/** lib/observe/recording.ts reads and removes it. */
const VARIABLE = 'LIBTORCH_NODE_AUDIT';

export function runCommand(done: (status: number) => void): Command {
  const command = new Command('run')
    .description('Runs a program, shows its live tensors on stderr, and prints a report when it ends.')
    .usage('[options] -- node app.js …')
    .argument('[program...]', 'program and its arguments')
    .passThroughOptions()
    .option('-o, --output <file>', 'keep the capture (for `leak-audit report` and `check`)');
  modeOptions(command).option(
    '--follow-children',
    'also record the child processes of the program, in the same capture',
  );
  return intervalOption(command)
    .option('--html <file>', 'also write the report as one offline page')
    .option('--json <file>', "also write the report as JSON ('-': to stdout, instead of the text)")
    .option('--check', 'exit with 1 if a leak was found and the program succeeded')
    .option(
      '--why',
      'also find what holds the tensors when the recording first shows a leak and when the program exits (with --follow-children also of up to 16 child processes); pauses the program',
    )
    .option('--wasm', 'also record each WebAssembly.Memory: its size, its growth, the line that made it')
    .option('--all-frames', 'also show the frames of libraries in stacks')
    .option('--quiet', 'print no live lines while the program runs')
    .addHelpText(
      'after',
      `
Exit status: the program's own if it is not 0 (or its signal); else 1 if --check
is given and a leak was found; else 0. Wrong usage: 2. Lost events are reported
on stderr; with -o, \`leak-audit check\` then exits with 4.

Examples:
  leak-audit run -- node server.js
  leak-audit run --check --json report.json -- npm start
  leak-audit run --mode sample --max-size 64MiB -o app.ltna -- node server.js`,
    )
    .action(async (program: string[], options: Options) => {
      done(await run(program, options));
    });
}

async function run(program: string[], options: Options): Promise<number> {
  if (program.length === 0) throw new UsageError('no program given: leak-audit run [options] -- node app.js …');
  const { output, html, json } = options;
  checkSampling(options);
  checkDistinct({ '-o': output, '--html': html, '--json': json });
  if (output === '-') throw new UsageError('a capture cannot be written to stdout: name a file with -o FILE');
  checkWritable(output);
  for (const file of [html, json]) checkOutput(file);
  // Open for writing until the end: another run then does not take the name.
  const { folder, file, fd } =
    output === undefined ? reserveTemporary(os.tmpdir(), 'capture.ltna') : reserveAt(path.resolve(output));
  removeChildren(file);
  removeBeside(file);
  let result: Result;
  try {
    result = await record(program, { file, fd }, options);
  } finally {
    if (folder !== undefined) fs.rmSync(folder, { recursive: true, force: true });
  }
  const { ending, report } = result;
  if (ending.signal !== null) exitBySignal(ending.signal); // last: code after it may not run
  if (ending.code !== 0) return ending.code ?? 128;
  return options.check && report.verdict === 'leak' ? ExitCode.leak : ExitCode.clean;
}

const reserveAt = (file: string) => ({ folder: undefined, file, fd: reserve(file) });

interface Result {
  ending: Ending;
  report: Report;
}

async function record(
  program: string[],
  { file, fd }: { file: string; fd: number },
  options: Options,
): Promise<Result> {
  const heap = options.why ? new HeapAtEnd(options.followChildren === true) : undefined;
  const wasm = options.wasm ? new WasmRecording(roundMs(options)) : undefined;
  let running: HeldWhileRunning | undefined;
  try {
    const follower = new CaptureFollower(file, fd);
    const stopShowing = options.quiet ? () => {} : showLive(follower, options.interval);
    const settings = {
      file,
      mode: options.mode,
      intervalMs: roundMs(options),
      ...samplingOf(options),
      depth: options.frames,
      maxBytes: options.maxSize ?? 0,
      followChildren: options.followChildren === true,
      command: program.map(quoted).join(' '),
      ...heap?.settings,
    };
    const stopWatching =
      options.followChildren === true ? () => {} : watchUnrecorded(() => recordedPid(follower), noteUnrecorded);
    if (options.why) running = new HeldWhileRunning(() => captureNow(follower));
    const ending = await runChild(program, { [VARIABLE]: JSON.stringify(settings), ...wasm?.variables() }).finally(
      () => {
        stopWatching();
        stopShowing();
      },
    );
    const outlives = hasEnd(follower) ? undefined : recorderOf(file);
    if (outlives !== undefined) noteSurvivor(outlives, options.output !== undefined);
    const earlier = await running?.stop(); // it reads the recording, which is closed next
    const capture = whole(file, follower);
    const held = await heap?.answers(earlier);
    if (held !== undefined && options.output !== undefined) keepBeside(file, held);
    const foundWasm = wasm?.report();
    const report = reportCapture(capture, {
      ...options,
      ...(held === undefined ? {} : { held }),
      ...(foundWasm === undefined ? {} : { foundWasm }),
    });
    return { ending, report: foundWasm === undefined ? report : withWasm(report, foundWasm) };
  } finally {
    await running?.stop();
    heap?.close();
    wasm?.close();
  }
}

const recordedPid = (follower: CaptureFollower) => captureNow(follower)?.start?.pid;

const hasEnd = (follower: CaptureFollower) => captureNow(follower)?.end !== undefined;

function captureNow(follower: CaptureFollower): Capture | undefined {
  try {
    follower.poll();
    condense(follower.capture);
    return follower.capture;
  } catch {
    return undefined; // not valid any more; the report will say why
  }
}

/** For a daemon that the program started: the report would say that it was killed. */
const noteSurvivor = (pid: number, isKept: boolean) =>
  printError(
    `${colorsFor(process.stderr).yellow('leak-audit:')} process ${pid}, which is recorded, still runs, and the program has ended: the report ends here; ` +
      (isKept
        ? 'the capture goes on until the process ends\n'
        : 'use attach for what it does later, or run it in the foreground\n'),
  );

const noteUnrecorded = (pid: number) =>
  printError(
    `${colorsFor(process.stderr).yellow('leak-audit:')} process ${pid} of the program uses the library too and is not recorded; ` +
      'with --follow-children all are\n',
  );

/** Quoted for a shell. */
const quoted = (word: string) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`);

/** The capture of all processes after they have ended. */
function whole(file: string, follower: CaptureFollower): LoadedCapture {
  if (joinChildren(file) === 0) return loadFollowed(follower);
  follower.close();
  return loadCapture(file);
}
