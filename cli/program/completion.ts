/** Completion scripts for shells, generated from the definitions of the commands. */
import type { Command, Option } from 'commander';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

interface Flag {
  /** `-o`, `--output`. */
  names: string[];
  description: string;
  value: Value;
}

/** What an option takes: nothing, a file, any value, or one of some words. */
type Value = 'none' | 'file' | 'free' | string[];

interface Words {
  name: string;
  description: string;
  flags: Flag[];
  /** Values of its argument; undefined for files. */
  choices: string[] | undefined;
  /** Whether its argument is a process id. */
  process: boolean;
}

export function completionScript(shell: Shell, program: Command): string {
  const commands = program.commands.filter((command) => command.name() !== 'help').map(wordsOf);
  return { bash, zsh, fish }[shell](program.name(), commands);
}

function wordsOf(command: Command): Words {
  const choices = command.registeredArguments[0]?.argChoices;
  return {
    name: command.name(),
    description: command.description(),
    flags: [...command.createHelp().visibleOptions(command)].map(flagOf),
    choices: choices === undefined ? undefined : [...choices],
    process: command.registeredArguments[0]?.name() === 'pid',
  };
}

function flagOf(option: Option): Flag {
  const names = [option.short, option.long].filter((name) => name !== undefined && name !== null);
  return { names, description: option.description, value: takenBy(option) };
}

/** Options that take files are recognized by the placeholder in `--help`. */
function takenBy({ argChoices, flags, required, optional }: Option): Value {
  if (argChoices !== undefined) return [...argChoices];
  if (!required && !optional) return 'none';
  return /<(file|out|baseline)>/.test(flags) ? 'file' : 'free';
}

/** Single-quoted for POSIX shells, and for fish. */
const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
const fishQuote = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

const namesOf = (flags: Flag[]) => flags.flatMap((flag) => flag.names);
/** `run` takes any command after its options. */
const RUNS_A_PROGRAM = 'run';

function bash(program: string, commands: Words[]): string {
  const functionName = `_${program.replaceAll('-', '_')}`;
  const cases = commands.map(({ name, flags, choices, process }) => {
    const values = flags
      .filter(({ value }) => value !== 'none')
      .map(({ names: spelled, value }) => {
        const offer =
          value === 'file' ? 'files=1' : value === 'free' ? ':' : `words=${quote((value as string[]).join(' '))}`;
        return `        ${spelled.join('|')}) ${offer};;`;
      });
    const others =
      choices === undefined
        ? `words=${quote(namesOf(flags).join(' '))}${process ? '' : '; files=1'}`
        : `words=${quote(choices.join(' '))}`;
    return `    ${name})
      case "$before" in
${[...values, `        *) ${others};;`].join('\n')}
      esac;;`;
  });
  return `# bash completion of ${program}:  source <(${program} completion bash)
${functionName}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" words='' files=''
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W ${quote([...commands.map(({ name }) => name), '--help', '--version'].join(' '))} -- "$current"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
  esac
  case "$current" in
    -*) files='';;
    *) case "$words" in -*) words='';; esac;;
  esac
  [ -n "$words" ] && COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [ -n "$files" ]; then
    local IFS=$'\\n'
    compopt -o filenames 2>/dev/null
    COMPREPLY+=($(compgen -f -- "$current"))
  fi
}
complete -F ${functionName} ${program}
`;
}

function zsh(program: string, commands: Words[]): string {
  const functionName = `_${program.replaceAll('-', '_')}`;
  const plain = (text: string) => text.replace(/[[\]:\\]/g, '\\$&');
  const cases = commands.map(({ name, flags, choices, process }) => {
    const specs = flags.flatMap(({ names, description, value }) => {
      const taken = { none: '', file: ':file:_files', free: ':value:' };
      const offer = typeof value === 'string' ? taken[value] : `:value:(${value.join(' ')})`;
      return names.map((flag) => quote(`${flag}[${plain(description)}]${offer}`));
    });
    const rest =
      choices !== undefined
        ? `:word:(${choices.join(' ')})`
        : name === RUNS_A_PROGRAM
          ? '*:::program:_normal'
          : process
            ? ':pid:_pids'
            : '*:file:_files';
    return `    ${name}) _arguments ${[...specs, quote(rest)].join(' \\\n        ')};;`;
  });
  return `#compdef ${program}
# zsh completion of ${program}:  source <(${program} completion zsh)
${functionName}() {
  local -a commands=(
${commands.map(({ name, description }) => `    ${quote(`${name}:${plain(description)}`)}`).join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command="$words[2]"
  shift words
  (( CURRENT-- ))
  case "$command" in
${cases.join('\n')}
  esac
}
compdef ${functionName} ${program}
`;
}

function fish(program: string, commands: Words[]): string {
  const lines = commands.flatMap(({ name, description, flags, choices, process }) => {
    const within = `complete -c ${program} -n '__fish_seen_subcommand_from ${name}'`;
    return [
      `complete -c ${program} -n __fish_use_subcommand -f -a ${name} -d ${fishQuote(description)}`,
      ...flags.map(({ names, description: text, value }) => {
        const spelled = names.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
        const taken = { none: '', file: ' -r -F', free: ' -x' };
        const offer = typeof value === 'string' ? taken[value] : ` -x -a ${fishQuote(value.join(' '))}`;
        return `${within} ${spelled.join(' ')}${offer} -d ${fishQuote(text)}`;
      }),
      ...(choices === undefined ? [] : [`${within} -f -a ${fishQuote(choices.join(' '))}`]),
      ...(process ? [`${within} -f -a '(__fish_complete_pids)'`] : []),
    ];
  });
  return `# fish completion of ${program}:  ${program} completion fish | source\n${lines.join('\n')}\n`;
}
