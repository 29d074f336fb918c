/** `leak-audit ps`: the processes that can be attached to. */
import { Command, Option } from 'commander';
import { attachableProcesses } from '../attach/processes';
import { ExitCode, UsageError } from '../errors/errors';
import { renderProcesses } from '../reporters/ps';
import { colorsFor } from '../terminal/colors';
import { terminalColumns } from '../terminal/output';
import { jsonText, printableAll } from '../terminal/printable';
import { parseDuration } from '../terminal/units';
import { print } from '../terminal/writers';

interface Options {
  interval: number;
  json?: boolean;
}

/** Somebody waits for the list. `leak-audit live` measures over longer. */
const MAX_INTERVAL_MS = 8000;

function parseInterval(text: string): number {
  const ms = parseDuration(text);
  if (ms > MAX_INTERVAL_MS) throw new UsageError(`--interval: expected at most 8s, got ${text}`);
  return ms;
}

export function psCommand(done: (status: number) => void): Command {
  return new Command('ps')
    .description('Lists the processes that can be attached to, with their tensors, bytes and growth.')
    .addOption(
      new Option('--interval <duration>', 'time over which growth is measured, at most 8s')
        .argParser(parseInterval)
        .default(1000, '1s'),
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Lists processes of the same user that have loaded libtorch-node. They are not
paused and need not be recorded.

Exit status: 0, also if there is none.

Examples:
  leak-audit ps
  leak-audit ps --json | jq '.processes[].pid'`,
    )
    .action(async ({ interval, json }: Options) => {
      const list = await attachableProcesses(interval);
      const { stdout } = process;
      const options = { colors: colorsFor(stdout), folder: process.cwd(), columns: terminalColumns(stdout) };
      print(json ? `${jsonText(list, 2)}\n` : renderProcesses(printableAll(list), options));
      done(ExitCode.clean);
    });
}
