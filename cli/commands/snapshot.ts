/** `leak-audit snapshot PID`: the tensors that are live in a running process now. */
import { Command } from 'commander';
import { withProcess } from '../attach/connection';
import { takeSnapshot } from '../attach/snapshot';
import { ExitCode } from '../errors/errors';
import { renderSnapshot } from '../reporters/snapshot';
import { colorsFor } from '../terminal/colors';
import { jsonText, printableAll } from '../terminal/printable';
import { terminalSize } from '../terminal/size';
import { print } from '../terminal/writers';

export function snapshotCommand(done: (status: number) => void): Command {
  return new Command('snapshot')
    .description('Shows the live tensors of a running process by device, and by site if it is recorded.')
    .argument('<pid>', 'process id')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nThe process is not paused. The command works even if its event loop is blocked.\n\nExit status: 0, or 2 if the process cannot be reached.',
    )
    .action(async (pid: string, { json }: { json?: boolean }) => {
      const snapshot = await withProcess(pid, takeSnapshot);
      const { stdout } = process;
      const size = stdout.isTTY ? { columns: terminalSize(stdout).columns } : {};
      const text = () =>
        renderSnapshot(printableAll(snapshot), { colors: colorsFor(stdout), folder: process.cwd(), ...size });
      print(json ? `${jsonText(snapshot, 2)}\n` : text());
      done(ExitCode.clean);
    });
}
