/** `leak-audit mark PID NAME`: adds a named point to the timeline of a recording. */
import { Command } from 'commander';
import { withProcess } from '../attach/connection';
import { ExitCode, UsageError } from '../errors/errors';

const MAX_CHARACTERS = 200;

export function markCommand(done: (status: number) => void): Command {
  return new Command('mark')
    .description('Adds a mark to the capture of a process that `attach` or `run` records.')
    .argument('<pid>', 'process id')
    .argument('<name>', 'name of the mark, for example of a deployment')
    .addHelpText(
      'after',
      '\nReports list marks and show them in the timeline. Programs set them with\ntorch.audit.mark(name).' +
        '\nExit status: 0, or 2 if the process is not recorded.',
    )
    .action(async (pid: string, name: string) => {
      const isOneLine = !/\p{Cc}/u.test(name);
      if (name.length < 1 || name.length > MAX_CHARACTERS || !isOneLine) {
        const got = isOneLine ? `${name.length} characters` : 'a control character';
        throw new UsageError(`expected a name of 1 to ${MAX_CHARACTERS} characters on one line, got ${got}`);
      }
      await withProcess(pid, (connection) => connection.ask('mark', { name }));
      done(ExitCode.clean);
    });
}
