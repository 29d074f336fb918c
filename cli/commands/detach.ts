/** `leak-audit detach PID`: ends what `attach` began. */
import { Command } from 'commander';
import { detachedOf } from '../attach/answers';
import { withProcess } from '../attach/connection';
import { ExitCode } from '../errors';
import { printable } from '../printable';
import { formatDuration } from '../units';
import { print } from '../writers';

export function detachCommand(done: (status: number) => void): Command {
  return new Command('detach')
    .description('Ends the recording that `leak-audit attach` began; the `attach` that waits prints its report.')
    .argument('<pid>', 'the process')
    .addHelpText('after', '\nExit status: 0; 2 when nothing is recorded there, or `leak-audit run` does it.')
    .action(async (pid: string) => {
      const answer = await withProcess(pid, (connection) => connection.ask('detach'));
      const { file, ms } = detachedOf(answer);
      print(`detached from process ${pid} after ${formatDuration(ms)}: the capture is in ${printable(file)}\n`);
      done(ExitCode.clean);
    });
}
