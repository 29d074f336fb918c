/** `leak-audit attach PID`: records a running process until it is detached, then prints a report. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { Command } from 'commander';
import type { Report } from '../analysis/report';
import { recordingOf } from '../attach/answers';
import { Connection } from '../attach/connection';
import { isStopped, StoppedError } from '../attach/target';
import { loadFollowed } from '../capture/load';
import { CaptureFollower } from '../capture/reader';
import { isForLive, reserve } from '../capture/reserve';
import { ExitCode, UsageError } from '../errors/errors';
import { areSameFile } from '../files/regular-file';
import { checkSampling, intervalOption, modeOptions, type RecordingOptions, roundMs, samplingOf } from '../run/options';
import { reportCapture, showLive } from '../run/show';
import { checkDistinct, checkOutput, checkWritable } from '../terminal/output';
import { printable } from '../terminal/printable';
import { nearName } from '../terminal/size';
import { after } from '../terminal/timers';
import { parseDuration } from '../terminal/units';
import { print, printError } from '../terminal/writers';
import { askWhy, printPauses } from '../why/ask';
import type { Answer } from '../why/holder';
import { keepBeside, removeBeside } from '../why/kept';

/** How often the state of a process is read that should have ended the recording. */
const STOPPED_MS = 1000;

interface Options extends RecordingOptions {
  allFrames?: boolean;
  output?: string;
  duration?: number;
  background?: boolean;
  check?: boolean;
  html?: string;
  json?: string;
  quiet?: boolean;
  why?: boolean;
}

/** Each of these signals detaches; the report follows. */
const SIGNALS: NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

export function attachCommand(done: (status: number) => void): Command {
  const command = new Command('attach')
    .description('Records a running process that has loaded libtorch-node, until Ctrl-C, and prints a report.')
    .argument('<pid>', 'process id')
    .option('-o, --output <file>', 'file for the capture (default: leak-audit-PID.ltna)')
    .option('--duration <duration>', 'detach after this time, e.g. 30s, 10m', parseDuration)
    .option('--background', 'return at once; `leak-audit detach PID` or --duration ends the recording');
  modeOptions(command);
  return intervalOption(command)
    .option('--html <file>', 'also write the report as one offline page')
    .option('--json <file>', "also write the report as JSON ('-': to stdout, instead of the text)")
    .option('--check', 'exit with 1 if a leak was found')
    .option('--why', 'also find what holds the tensors before detaching; pauses each thread (see `leak-audit why`)')
    .option('--all-frames', 'also show the frames of libraries in stacks')
    .option('--quiet', 'print no live lines while recording')
    .addHelpText(
      'after',
      `
The process needs no flag and no debugger port, but must run as the same user.
Tensors that existed before are one site, "(before attach)". If leak-audit is
killed, the process stops recording.

Exit status: 0; 1 if --check is given and a leak was found; 2 if the process
cannot be attached to.

Examples:
  leak-audit attach 4711 --duration 5m
  leak-audit attach 4711 --mode sample -o night.ltna --background`,
    )
    .action(async (pid: string, options: Options) => {
      const report = await attach(pid, options);
      done(options.check && report?.verdict === 'leak' ? ExitCode.leak : ExitCode.clean);
    });
}

/** The report; undefined with --background. */
async function attach(pidText: string, options: Options): Promise<Report | undefined> {
  if (options.background && (options.html !== undefined || options.json !== undefined))
    throw new UsageError('--background prints no report: run leak-audit report on the capture after detaching');
  if (options.background && options.check)
    throw new UsageError('--check cannot be combined with --background: run leak-audit check on the capture');
  if (options.background && options.why)
    throw new UsageError('--why cannot be combined with --background: use leak-audit why PID while the process runs');
  if (options.output === '-') throw new UsageError('a capture cannot be written to stdout: name a file with -o FILE');
  const { output, html, json } = options;
  checkSampling(options);
  checkDistinct({ '-o': output, '--html': html, '--json': json });
  checkWritable(output);
  for (const file of [html, json]) checkOutput(file);
  const connection = await Connection.open(pidText);
  try {
    const { file, fd } = await begin(connection, options);
    if (options.background) {
      fs.closeSync(fd);
      print(
        `recording process ${connection.pid} to ${printable(file)}; to stop: leak-audit detach ${connection.pid}\n`,
      );
      return undefined;
    }
    return await follow(connection, new CaptureFollower(file, fd), options);
  } finally {
    connection.close();
  }
}

/** Starts recording in the process. Returns the capture's file; the caller owns its descriptor. */
async function begin(connection: Connection, options: Options): Promise<{ file: string; fd: number }> {
  await refuseIfRecorded(connection);
  const file = path.resolve(options.output ?? unusedName(connection.pid));
  const sampling = samplingOf(options);
  const fd = reserve(file); // the descriptor, because another user's file could take the name
  try {
    await connection.ask('attach', {
      fd,
      path: file,
      mode: options.mode,
      interval: roundMs(options),
      sample: sampling.sampleBytes,
      adapt: sampling.adaptDistance,
      depth: options.frames,
      max: options.maxSize ?? 0,
      duration: options.why ? 0 : Math.ceil(options.duration ?? 0), // with --why, detached from here after asking
      keep: options.background ? 1 : 0,
    });
  } catch (error) {
    removeIfSame(file, fd);
    fs.closeSync(fd);
    throw error;
  }
  return { file, fd };
}

/** Removes `file` if the name still refers to the open file. */
function removeIfSame(file: string, fd: number): void {
  const named = fs.lstatSync(file, { bigint: true, throwIfNoEntry: false });
  const opened = fs.fstatSync(fd, { bigint: true });
  if (areSameFile(named, opened)) fs.rmSync(file, { force: true });
}

/** Called before the file of an earlier capture is touched. */
async function refuseIfRecorded(connection: Connection): Promise<void> {
  const recording = recordingOf(await connection.ask('status'));
  if (recording === null) return;
  const { pid } = connection;
  if (recording.file !== undefined && isForLive(recording.file))
    throw new UsageError(`process ${pid} is recorded by leak-audit live: quit that first`);
  throw new UsageError(
    recording.by === 'run'
      ? `process ${pid} is already recorded by leak-audit run`
      : `process ${pid} is already recorded (${recording.file}); to stop: leak-audit detach ${pid}`,
  );
}

/** An unused name in the working folder. */
function unusedName(pid: number): string {
  for (let n = 1; ; n++) {
    const name = `leak-audit-${pid}${n === 1 ? '' : `-${n}`}.ltna`;
    if (!fs.existsSync(name)) return name;
  }
}

async function follow(connection: Connection, follower: CaptureFollower, options: Options): Promise<Report> {
  const { file } = follower;
  const shown = printable(nearName(file));
  let asked = false;
  let held: Answer[] | undefined;
  let waiting: NodeJS.Timeout | undefined;
  /** The process should end the recording now. One that is stopped does so when it continues, which may be never. */
  const awaitEnd = () => {
    waiting ??= setInterval(() => {
      if (!isStopped(connection.pid)) return;
      printError(
        `leak-audit: ${new StoppedError(connection.pid, true).message}; the recording ends when it continues\n`,
      );
      connection.close();
    }, STOPPED_MS);
  };
  const asking = async () => {
    if (options.why) held = await heldNow(connection);
  };
  let answered: Promise<void> | undefined;
  const [gaveUp, giveUp] = signalled();
  const detach = () => {
    if (asked) {
      giveUp();
      connection.close(); // no answer, for example because it is stopped; it detaches when it continues
    } else {
      answered = asking();
      void answered.then(() => connection.ask('detach')).catch(() => {}); // already detached or ended
    }
    asked = true;
    awaitEnd();
  };
  for (const signal of SIGNALS) process.on(signal, detach);
  printError(`leak-audit: recording process ${connection.pid} to ${shown}; press Ctrl-C to detach\n`);
  const stopShowing = options.quiet ? () => {} : showLive(follower, options.interval);
  const cancel = options.duration ? after(options.duration, options.why ? detach : awaitEnd) : () => {};
  await connection.ended;
  cancel();
  clearInterval(waiting);
  // A process may end while the heap that it has written is still being read.
  await Promise.race([answered, gaveUp]);
  for (const signal of SIGNALS) process.off(signal, detach);
  stopShowing();
  const loaded = loadFollowed(follower);
  if (held !== undefined) keepBeside(file, held);
  else removeBeside(file);
  const report = reportCapture(loaded, held === undefined ? options : { ...options, held });
  printError(`leak-audit: capture written to ${shown}\n`);
  return report;
}

/** A promise, and the function that fulfils it. */
function signalled(): [promise: Promise<void>, fulfil: () => void] {
  let fulfil = () => {};
  const promise = new Promise<void>((resolve) => {
    fulfil = resolve;
  });
  return [promise, fulfil];
}

/** If the process does not answer, prints why and returns undefined; the recording is kept. */
async function heldNow(connection: Connection): Promise<Answer[] | undefined> {
  try {
    const { answers, silent } = await askWhy(connection, {});
    for (const reason of silent) printError(`leak-audit: --why: ${reason}\n`);
    printPauses(answers, connection.pid);
    return answers;
  } catch (error) {
    // Whatever failed, a full disk for example: the process is detached and the recording reported without holders.
    printError(`leak-audit: --why: ${(error as Error).message}\n`);
    return undefined;
  }
}
