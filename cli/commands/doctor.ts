/** `libtorch-node doctor`: checks whether the library works on this machine. */
import { existsSync } from 'node:fs';
import * as path from 'node:path';
import { Command } from 'commander';
import { examine } from '../doctor/examine';
import { judge } from '../doctor/judge';
import { ExitCode, UsageError } from '../errors/errors';
import { renderChecks, renderChecksJson } from '../reporters/doctor';
import { colorsFor } from '../terminal/colors';
import { print } from '../terminal/writers';

interface Options {
  json?: boolean;
  root: string;
}

export function doctorCommand(done: (status: number) => void): Command {
  return new Command('doctor')
    .description('Tests the library on this machine and suggests fixes. Exit status: 0 healthy, 1 problems, 2 usage.')
    .option('--json', 'print the report as JSON')
    .option('--root <folder>', 'read /proc and /sys below this folder (for tests)', '/')
    .action(async ({ json, root }: Options) => {
      if (!existsSync(path.join(root, 'proc'))) {
        // A machine without /proc has no control groups; an explicit --root must have the folder.
        if (root !== '/') throw new UsageError(`--root: ${root} has no folder proc`);
      }
      const findings = await examine(root);
      const checks = judge(findings);
      print(json === true ? renderChecksJson(checks, findings) : renderChecks(checks, colorsFor(process.stdout)));
      done(checks.some(({ status }) => status === 'problem') ? 1 : ExitCode.clean);
    });
}
