/** The commands of leak-audit, in the order of `--help`. */
import type { CommandFactory } from '../program/program';
import { attachCommand } from './attach';
import { checkCommand } from './check';
import { completionCommand } from './completion';
import { detachCommand } from './detach';
import { diffCommand } from './diff';
import { exportCommand } from './export';
import { liveCommand } from './live';
import { markCommand } from './mark';
import { psCommand } from './ps';
import { repairCommand } from './repair';
import { reportCommand } from './report';
import { runCommand } from './run';
import { snapshotCommand } from './snapshot';
import { whyCommand } from './why';

export const commands: CommandFactory[] = [
  runCommand,
  psCommand,
  liveCommand,
  attachCommand,
  detachCommand,
  markCommand,
  snapshotCommand,
  whyCommand,
  reportCommand,
  checkCommand,
  diffCommand,
  exportCommand,
  repairCommand,
  completionCommand,
];
