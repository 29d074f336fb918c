/** `leak-audit completion SHELL`: prints a script that completes commands, options and files. */
import { Argument, Command } from 'commander';
import { ExitCode } from '../errors/errors';
import { completionScript, SHELLS, type Shell } from '../program/completion';
import { print } from '../terminal/writers';

export function completionCommand(done: (status: number) => void): Command {
  return new Command('completion')
    .description('Prints a completion script for a shell.')
    .addArgument(new Argument('<shell>', 'shell').choices(SHELLS))
    .addHelpText(
      'after',
      `
  bash   source <(leak-audit completion bash)  in ~/.bashrc
  zsh    source <(leak-audit completion zsh)   in ~/.zshrc, after compinit
  fish   leak-audit completion fish | source   in ~/.config/fish/config.fish`,
    )
    .action((shell: Shell, _options: object, command: Command) => {
      print(completionScript(shell, command.parent!));
      done(ExitCode.clean);
    });
}
