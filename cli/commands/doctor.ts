/** `libtorch-node doctor`: checks whether the library works on this machine. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import * as path from 'node:path';
import { Command } from 'commander';
import { examine, type Findings } from '../doctor/examine';
import { type Check, judge } from '../doctor/judge';
import { type Remedy, readSystem, remedyFor, type Step } from '../doctor/remedy';
import { ExitCode, UsageError } from '../errors/errors';
import { renderChecks, renderChecksJson, renderRemedy } from '../reporters/doctor';
import { colorsFor } from '../terminal/colors';
import { print, printError } from '../terminal/writers';

interface Options {
  json?: boolean;
  fix?: boolean;
  yes?: boolean;
  root: string;
}

export function doctorCommand(done: (status: number) => void): Command {
  return new Command('doctor')
    .description(
      'Tests the library on this machine and suggests fixes. Exit status: 0 healthy, 1 problems, 2 wrong usage.',
    )
    .option('--json', 'print the report as JSON')
    .option('--fix', 'also print the command that fixes the first problem')
    .option('--yes', 'with --fix: run that command, and test again')
    .option('--root <folder>', 'read /proc, /sys, /etc and /var below this folder (for tests)', '/')
    .action(async ({ json, fix, yes, root }: Options) => {
      if (!existsSync(path.join(root, 'proc'))) {
        // A machine without /proc has no control groups; an explicit --root must have the folder.
        if (root !== '/') throw new UsageError(`--root: ${root} has no folder proc`);
      }
      if (yes === true && fix !== true) throw new UsageError('--yes requires --fix');
      if (yes === true && json === true) throw new UsageError('--yes and --json cannot be combined');
      const { checks, findings } = await examined(root);
      const remedy = fix === true ? remedyFor(checks, findings, readSystem(root)) : undefined;
      if (json === true) print(renderChecksJson(checks, findings, remedy));
      else print(renderChecks(checks, colorsFor(process.stdout)) + (remedy === undefined ? '' : renderRemedy(remedy)));
      if (yes === true && remedy != null && remedy.steps.length > 0) done(await fixAndTest(remedy, root));
      else done(statusOf(checks));
    });
}

const statusOf = (checks: Check[]): number => (checks.some(({ status }) => status === 'problem') ? 1 : ExitCode.clean);

async function examined(root: string): Promise<{ checks: Check[]; findings: Findings }> {
  const findings = await examine(root);
  return { checks: judge(findings), findings };
}

/** Runs the command and tests again. Returns the exit status. */
async function fixAndTest({ steps }: Remedy, root: string): Promise<number> {
  for (const step of steps) {
    const problem = await run(step);
    if (problem === null) continue;
    printError(`libtorch-node: ${step.shown} failed: ${problem}\n`);
    return 1;
  }
  const { checks } = await examined(root);
  print(`\n${renderChecks(checks, colorsFor(process.stdout))}`);
  return statusOf(checks);
}

/** Runs one command with this terminal, for its progress and for a password. Returns how it failed, or null. */
function run({ command, args }: Step): Promise<string | null> {
  return new Promise((resolve) => {
    const wait = (): void => {}; // the command receives Ctrl-C, too, and decides how to end
    process.on('SIGINT', wait);
    const ended = (problem: string | null): void => {
      process.off('SIGINT', wait);
      resolve(problem);
    };
    const child = spawn(command, args, { stdio: 'inherit', shell: process.platform === 'win32' });
    child.once('error', (error) => ended(error.message));
    child.once('close', (code, signal) => ended(code === 0 ? null : signal === null ? `status ${code}` : signal));
  });
}
