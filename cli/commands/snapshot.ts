/** `leak-audit snapshot PID`: what lives in a running process now. */
import { Command } from 'commander';
import { withProcess } from '../attach/connection';
import { takeSnapshot } from '../attach/snapshot';
import { colorsFor } from '../colors';
import { ExitCode } from '../errors';
import { jsonText, printableAll } from '../printable';
import { renderSnapshot } from '../reporters/snapshot';
import { terminalSize } from '../terminal';
import { print } from '../writers';

export function snapshotCommand(done: (status: number) => void): Command {
  return new Command('snapshot')
    .description('Shows what lives in a running process: by device, and by site where it is recorded.')
    .argument('<pid>', 'the process')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      '\nThe process goes on meanwhile: nothing waits for its event loop.\n\nExit status: 0; 2 when the process cannot be asked.',
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
