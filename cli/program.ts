/** What the two programs of this package share: commands in, exit status out. */
import { Command, CommanderError } from 'commander';
import { colorsFor } from './colors';
import type { CommandFactory } from './commands';
import { ExitCode, UsageError } from './errors';
import { progress } from './progress';
import { version } from './version';

export interface Program {
  name: string;
  description: string;
  commands: CommandFactory[];
}

async function run(definition: Program, argv: string[]): Promise<number> {
  const program = new Command(definition.name)
    .description(definition.description)
    .version(version())
    .enablePositionalOptions()
    .showHelpAfterError('(see --help)')
    .exitOverride();
  let status: number = ExitCode.clean;
  for (const command of definition.commands) {
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
    progress.end();
    if (error instanceof CommanderError) return error.exitCode === 0 ? ExitCode.clean : ExitCode.usage;
    if (error instanceof UsageError) {
      const { red } = colorsFor(process.stderr);
      process.stderr.write(`${red(`${definition.name}:`)} ${error.message}\n`);
      return ExitCode.usage;
    }
    return internalError(definition, error);
  }
}

/** A mistake of ours: one line, and a status that no verdict has. */
function internalError(definition: Program, error: unknown): number {
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const { red } = colorsFor(process.stderr);
  process.stderr.write(`${red(`${definition.name}:`)} internal error: ${what.replace(/\s+/g, ' ')}\n`);
  return ExitCode.internal;
}

/** Runs the program; the process's exit status is the command's. */
export function main(definition: Program): void {
  // A reader that goes away (`| head`) is no error of ours.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  }
  process.on('uncaughtException', (error) => process.exit(internalError(definition, error)));
  void run(definition, process.argv).then((status) => {
    process.exitCode = status;
  });
}
