/** `leak-audit detach PID`: ends the recording of `attach`. */
import { Command } from 'commander';
import { detachedOf } from '../attach/answers';
import { withProcess } from '../attach/connection';
import { ExitCode } from '../errors/errors';
import { printable } from '../terminal/printable';
import { formatDuration } from '../terminal/units';
import { print } from '../terminal/writers';

export function detachCommand(done: (status: number) => void): Command {
  return new Command('detach')
    .description('Ends a recording of `leak-audit attach`; a waiting `attach` then prints its report.')
    .argument('<pid>', 'process id')
    .addHelpText('after', '\nExit status: 0, or 2 if the process is not being recorded\nby `leak-audit attach`.')
    .action(async (pid: string) => {
      const answer = await withProcess(pid, (connection) => connection.ask('detach'));
      const { file, ms } = detachedOf(answer);
      print(`detached from process ${pid} after ${formatDuration(ms)}: capture written to ${printable(file)}\n`);
      done(ExitCode.clean);
    });
}
