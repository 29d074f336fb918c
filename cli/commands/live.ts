/** `leak-audit live PID|FILE`: live tensors by site while a process runs. */
import { Command, Option } from 'commander';
import { ExitCode, UsageError } from '../errors/errors';
import { Screen } from '../live/screen';
import { type LiveSource, openSource } from '../live/source';
import { History, renderView, SORTS, type Sort } from '../live/view';
import { LiveLines } from '../reporters/live';
import { colorsFor } from '../terminal/colors';
import { printable, printableAll } from '../terminal/printable';
import { terminalSize } from '../terminal/size';
import { after } from '../terminal/timers';
import { parseDuration } from '../terminal/units';
import { print, printError } from '../terminal/writers';

interface Options {
  interval: number;
  duration?: number;
  sort: Sort;
}

const SIGNALS: NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];

export function liveCommand(done: (status: number) => void): Command {
  return new Command('live')
    .description('Shows live tensors by site while a process runs or a capture is written.')
    .argument('<pid|file>', 'running process, or capture that is being written')
    .addOption(
      new Option('--interval <duration>', 'time between updates, e.g. 500ms')
        .argParser(parseInterval)
        .default(1000, '1s'),
    )
    .option('--duration <duration>', 'quit after this time, e.g. 30s', parseDuration)
    .addOption(new Option('--sort <by>', 'sort order of the sites').choices([...SORTS]).default('bytes'))
    .addHelpText(
      'after',
      `
Keys: b, t, r sort by live bytes, live tensors, bytes made per second;
p pauses, q quits. If stdout is not a terminal, a line is printed per interval.
A process is recorded while it is shown, unless it is already recorded. For a
file whose name is a number, include the folder: ./4711.

Exit status: 0, or 2 if there is no such process or capture.`,
    )
    .action(async (what: string, options: Options) => {
      const source = await openSource(what);
      try {
        await (process.stdout.isTTY ? onScreen(source, options) : inLines(source, options));
      } finally {
        await source.close();
      }
      done(ExitCode.clean);
    });
}

/** Half of the time after which a process drops a client that sends nothing. */
const MAX_INTERVAL_MS = 60_000;

function parseInterval(text: string): number {
  const ms = parseDuration(text);
  if (ms > MAX_INTERVAL_MS) throw new UsageError(`--interval: expected at most one minute, got ${text}`);
  return ms;
}

/** Settles at a signal, after `duration`, when stdout is closed (`| head`), or when `stop` is called. */
function untilEnd({ duration }: Options): { over: Promise<void>; stop: () => void; isOver: () => boolean } {
  let stop = () => {};
  let isOver = false;
  const over = new Promise<void>((resolve) => {
    const cancel = duration === undefined ? () => {} : after(duration, () => stop());
    stop = () => {
      isOver = true;
      cancel();
      for (const signal of SIGNALS) process.off(signal, stop);
      process.stdout.off('error', stop);
      resolve();
    };
    for (const signal of SIGNALS) process.on(signal, stop);
    process.stdout.on('error', stop);
  });
  return { over, stop: () => stop(), isOver: () => isOver };
}

/** Calls `fn` repeatedly, one call at a time, until `untilEnd` settles. */
async function repeat(options: Options, fn: (stop: () => void) => Promise<void>): Promise<void> {
  const { over, stop, isOver } = untilEnd(options);
  try {
    while (!isOver()) {
      await fn(stop);
      let timer: NodeJS.Timeout | undefined;
      await Promise.race([over, new Promise((resolve) => (timer = setTimeout(resolve, options.interval)))]);
      clearTimeout(timer);
    }
  } finally {
    stop();
  }
}

async function inLines(source: LiveSource, options: Options): Promise<void> {
  const { stdout } = process;
  const width = () => terminalSize(stdout).columns;
  const lines = new LiveLines(print, colorsFor(stdout), width);
  let shown = -1;
  let isReported = false;
  await repeat(options, async (stop) => {
    const state = await source.look();
    if (state !== undefined && state.ms !== shown) lines.show(state);
    shown = state?.ms ?? shown;
    if (source.ended !== undefined) {
      printError(`leak-audit: ${printable(source.ended)}\n`);
      stop();
    } else if (source.stalled !== undefined && !isReported) printError(`leak-audit: ${printable(source.stalled)}\n`);
    isReported = source.stalled !== undefined;
  });
}

async function onScreen(source: LiveSource, options: Options): Promise<void> {
  const history = new History();
  const colors = colorsFor(process.stdout);
  let { sort } = options;
  let paused = false;
  let stop = () => {};
  const draw = () => {
    const { columns, rows } = terminalSize(process.stdout);
    const { title, ended, stalled } = printableAll({
      title: source.title,
      ended: source.ended,
      stalled: source.stalled,
    });
    screen.show(
      renderView(history, { title, ended, stalled, columns, rows, colors, folder: process.cwd(), sort, paused }),
    );
  };
  const onKey = (key: string) => {
    const by = { b: 'bytes', t: 'tensors', r: 'rate' } as const;
    if (key === 'q' || key === '\x03') stop();
    else if (key === 'p' || key === ' ') paused = !paused;
    else sort = by[key as keyof typeof by] ?? sort;
    draw();
  };
  const screen = new Screen(onKey, draw);
  try {
    await repeat(options, async (end) => {
      stop = end;
      // While paused, the process is still asked, because it drops clients that send nothing; the figures stay.
      const state = source.ended === undefined ? await source.look() : undefined;
      if (!paused && state !== undefined) history.add(state);
      draw();
    });
  } finally {
    screen.close();
  }
}
