/** `leak-audit mark PID NAME`: a named point in the timeline of what is recorded. */
import { Command } from 'commander';
import { withProcess } from '../attach/connection';
import { ExitCode, UsageError } from '../errors';

const MAX_CHARACTERS = 200;

export function markCommand(done: (status: number) => void): Command {
  return new Command('mark')
    .description('Puts a mark into the capture of a process that is recorded (by `attach` or `run`).')
    .argument('<pid>', 'the process')
    .argument('<name>', 'what the mark says, for example the name of a deployment')
    .addHelpText(
      'after',
      '\nReports list marks and draw them into the timeline. Programs set them with\ntorch.audit.mark(name).' +
        '\nExit status: 0; 2 when nothing is recorded there.',
    )
    .action(async (pid: string, name: string) => {
      if (name.length < 1 || name.length > MAX_CHARACTERS || /\p{Cc}/u.test(name))
        throw new UsageError(`the name of a mark has 1 to ${MAX_CHARACTERS} characters, on one line`);
      await withProcess(pid, (connection) => connection.ask('mark', { name }));
      done(ExitCode.clean);
    });
}
