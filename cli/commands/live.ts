/** `leak-audit live PID|FILE`: what lives, and what makes it, while it happens. */
import { Command, Option } from 'commander';
import { colorsFor } from '../colors';
import { ExitCode, UsageError } from '../errors';
import { Screen } from '../live/screen';
import { type LiveSource, openSource } from '../live/source';
import { History, renderView, SORTS, type Sort } from '../live/view';
import { printable, printableAll } from '../printable';
import { LiveLines } from '../reporters/live';
import { terminalSize } from '../terminal';
import { parseDuration } from '../units';
import { print, printError } from '../writers';

interface Options {
  interval: number;
  duration?: number;
  sort: Sort;
}

const SIGNALS: NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];

export function liveCommand(done: (status: number) => void): Command {
  return new Command('live')
    .description('Shows living tensors by site while a process runs, or while a capture grows.')
    .argument('<pid-or-file>', 'a running process, or a capture that is being written')
    .addOption(
      new Option('--interval <duration>', 'how often it is looked at, e.g. 500ms')
        .argParser(parseInterval)
        .default(1000, '1s'),
    )
    .option('--duration <duration>', 'end after this time, e.g. 30s', parseDuration)
    .addOption(new Option('--sort <by>', 'what the sites are sorted by').choices([...SORTS]).default('bytes'))
    .addHelpText(
      'after',
      `
Keys: b, t, r sort by living bytes, living tensors, bytes made per second;
p pauses, q quits. Where stdout is no terminal, a line per interval is written.
A process is attached to meanwhile, unless it is recorded already. A file whose
name is a number is written with its folder: ./4711.

Exit status: 0; 2 when there is no such process or capture.`,
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

/** Whom it asks seldomer is let go by the process. */
const MAX_INTERVAL_MS = 60_000;

function parseInterval(text: string): number {
  const ms = parseDuration(text);
  if (ms > MAX_INTERVAL_MS) throw new UsageError(`--interval ${text} is more than a minute`);
  return ms;
}

/** Settles at a signal, after `duration`, when nobody reads any more (`| head`), or when `stop` is called. */
function untilEnd({ duration }: Options): { over: Promise<void>; stop: () => void; isOver: () => boolean } {
  let stop = () => {};
  let isOver = false;
  const over = new Promise<void>((resolve) => {
    const timer = duration === undefined ? undefined : setTimeout(() => stop(), duration);
    stop = () => {
      isOver = true;
      clearTimeout(timer);
      for (const signal of SIGNALS) process.off(signal, stop);
      process.stdout.off('error', stop);
      resolve();
    };
    for (const signal of SIGNALS) process.on(signal, stop);
    process.stdout.on('error', stop);
  });
  return { over, stop: () => stop(), isOver: () => isOver };
}

/** Calls `fn` again and again, each time when the last call has ended, until the end. */
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
  let told = false;
  await repeat(options, async (stop) => {
    const state = await source.look();
    if (state !== undefined && state.ms !== shown) lines.show(state);
    shown = state?.ms ?? shown;
    if (source.ended !== undefined) {
      printError(`leak-audit: ${printable(source.ended)}\n`);
      stop();
    } else if (source.stalled !== undefined && !told) printError(`leak-audit: ${printable(source.stalled)}\n`);
    told = source.stalled !== undefined;
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
      // While it is paused the picture stands, whatever comes.
      if (!paused && source.ended === undefined) {
        const state = await source.look();
        if (state !== undefined) history.add(state);
      }
      draw();
    });
  } finally {
    screen.close();
  }
}
