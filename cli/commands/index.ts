/**
 * The commands of leak-audit, in the order of `--help`. Each is loaded only when it is run. All commands together load 170 files;
 * one loads about half as many.
 */
import type { CommandLoader } from '../program/program';

export const commands: Record<string, CommandLoader> = {
  run: () => (require('./run') as typeof import('./run')).runCommand,
  ps: () => (require('./ps') as typeof import('./ps')).psCommand,
  live: () => (require('./live') as typeof import('./live')).liveCommand,
  attach: () => (require('./attach') as typeof import('./attach')).attachCommand,
  detach: () => (require('./detach') as typeof import('./detach')).detachCommand,
  mark: () => (require('./mark') as typeof import('./mark')).markCommand,
  snapshot: () => (require('./snapshot') as typeof import('./snapshot')).snapshotCommand,
  why: () => (require('./why') as typeof import('./why')).whyCommand,
  report: () => (require('./report') as typeof import('./report')).reportCommand,
  check: () => (require('./check') as typeof import('./check')).checkCommand,
  diff: () => (require('./diff') as typeof import('./diff')).diffCommand,
  export: () => (require('./export') as typeof import('./export')).exportCommand,
  repair: () => (require('./repair') as typeof import('./repair')).repairCommand,
  completion: () => (require('./completion') as typeof import('./completion')).completionCommand,
};
