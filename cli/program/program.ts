/** Runs the commands of a program and sets its exit status; shared by the two programs of this package. */
import { Command, CommanderError, type OutputConfiguration } from 'commander';
import { ExitCode, UsageError } from '../errors/errors';
import { version } from '../files/version';
import { colorsFor } from '../terminal/colors';
import { printable } from '../terminal/printable';
import { progress } from '../terminal/progress';
import { print, printError } from '../terminal/writers';

/** Builds a command; its action passes its exit status to `done`. */
export type CommandFactory = (done: (status: number) => void) => Command;

export type CommandLoader = () => CommandFactory;

export interface Program {
  name: string;
  description: string;
  /** By name. */
  commands: Readonly<Record<string, CommandLoader>>;
  /** The end of its --help text. */
  more?: string;
}

/** Prints usage errors as one line that refers to --help. */
function oneLine(...names: string[]): OutputConfiguration {
  return {
    writeOut: print,
    writeErr: printError,
    outputError: (text, write) => {
      const { red } = colorsFor(process.stderr);
      const what = text
        .replace(/^error: /, '')
        .trimEnd()
        .replace(/\s*\n\s*/g, ' ');
      write(`${red(`${names[0]}:`)} ${printable(what)} (see ${names.join(' ')} --help)\n`);
    },
  };
}

/** Prints the names and options of all commands. */
const ABOUT_ALL = 'completion';

/** The command that the arguments name, or all of them for `--help` and for a name that is not known. */
function neededCommands({ commands }: Program, name: string | undefined): CommandLoader[] {
  const isOne = name !== undefined && name !== ABOUT_ALL && Object.hasOwn(commands, name);
  return isOne ? [commands[name]!] : Object.values(commands);
}

async function run(definition: Program, argv: string[]): Promise<number> {
  const program = new Command(definition.name)
    .description(definition.description)
    .version(version())
    .enablePositionalOptions()
    .addHelpText('after', definition.more ?? '')
    .configureOutput(oneLine(definition.name))
    .exitOverride();
  let status: number = ExitCode.clean;
  for (const load of neededCommands(definition, argv[2])) {
    const command = load()((result) => {
      status = result;
    });
    refuseOptionsAsValues(command);
    program.addCommand(command.exitOverride().configureOutput(oneLine(definition.name, command.name())));
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
      printError(`${red(`${definition.name}:`)} ${printable(error.message)}\n`);
      return ExitCode.usage;
    }
    const why = refusal(error);
    if (why === undefined) return internalError(definition, error);
    printError(`${definition.name}: ${printable(why)}\n`);
    return ExitCode.usage;
  }
}

/** Why this process cannot do what the command needs, if that is the error's reason. */
function refusal(error: unknown): string | undefined {
  const { syscall, code, permission, resource } = (error ?? {}) as NodeJS.ErrnoException & Record<string, unknown>;
  if (syscall === 'uv_cwd') return 'the working folder does not exist';
  if (code === 'EMFILE') return 'too many files are open in this process: raise the limit (ulimit -n)';
  if (code === 'EAGAIN' && syscall?.startsWith('spawn'))
    return 'no more processes may be started: raise the limit (ulimit -u)';
  if (code !== 'ERR_ACCESS_DENIED') return undefined;
  return `Node's permission model denies ${[permission, resource].filter(Boolean).join(' of ')}: run the command without --permission, or with the permission`;
}

/** `--csv --pprof out` would write to a file named `--pprof`: Commander takes the next argument, whatever it is. */
function refuseOptionsAsValues(command: Command): void {
  const names = ['--', ...command.options.flatMap(({ short, long }) => [short, long])];
  for (const option of command.options.filter(({ required }) => required)) {
    command.on(`option:${option.name()}`, (value: string) => {
      if (names.includes(value)) throw new UsageError(`${option.flags}: expected a value, got ${value}`);
    });
  }
}

/** A bug in leak-audit: one line, and an exit status that no verdict has. */
function internalError(definition: Program, error: unknown): number {
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const { red } = colorsFor(process.stderr);
  printError(`${red(`${definition.name}:`)} internal error: ${printable(what.replace(/\s+/g, ' '))}\n`);
  return ExitCode.internal;
}

/** Runs the program; the process's exit status is the command's. */
export function main(definition: Program): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return; // `| head`
    printError(`${definition.name}: cannot write to stdout: ${error.code ?? error}\n`);
    process.exit(ExitCode.usage);
  });
  // There is nowhere left to report it, and the exit status still says the result.
  process.stderr.on('error', () => {});
  process.on('uncaughtException', (error) => process.exit(internalError(definition, error)));
  void run(definition, process.argv).then((status) => {
    process.exitCode = status;
  });
}
