/** The list of commands: one file each, one line here. */
import type { Command } from 'commander';
import { checkCommand } from './check';
import { completionCommand } from './completion';
import { diffCommand } from './diff';
import { exportCommand } from './export';
import { repairCommand } from './repair';
import { reportCommand } from './report';
import { runCommand } from './run';

/** Builds a command; its action hands its exit status to `done`. */
export type CommandFactory = (done: (status: number) => void) => Command;

export const commands: CommandFactory[] = [
  runCommand,
  reportCommand,
  checkCommand,
  diffCommand,
  exportCommand,
  repairCommand,
  completionCommand,
];
