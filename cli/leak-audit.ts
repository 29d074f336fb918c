#!/usr/bin/env node
/** `leak-audit`: which source line holds the tensors? */
import { Command, CommanderError } from 'commander';
import { colorsFor } from './colors';
import { commands } from './commands';
import { ExitCode, UsageError } from './errors';
import { version } from './version';

async function main(argv: string[]): Promise<number> {
  const program = new Command('leak-audit')
    .description('Shows which source line holds tensors, and how fast it grows.')
    .version(version())
    .enablePositionalOptions()
    .showHelpAfterError('(see --help)')
    .exitOverride();
  let status: number = ExitCode.clean;
  for (const command of commands) {
    program.addCommand(
      command((result) => {
        status = result;
      }).exitOverride(),
    );
  }
  if (argv.length <= 2) {
    program.outputHelp({ error: true });
    return ExitCode.usage;
  }
  try {
    await program.parseAsync(argv);
    return status;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? ExitCode.clean : ExitCode.usage;
    if (error instanceof UsageError) {
      const { red } = colorsFor(process.stderr);
      process.stderr.write(`${red('leak-audit:')} ${error.message}\n`);
      return ExitCode.usage;
    }
    throw error;
  }
}

// A reader that goes away (`| head`) is no error of ours.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

void main(process.argv).then((status) => {
  process.exitCode = status;
});
