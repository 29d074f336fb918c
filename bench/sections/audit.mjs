/** The overhead of leak-audit in the audited program: nanoseconds per allocation, by mode, against the unaudited program. */
import { inRoot } from '../../scripts/paths.mjs';
import { step } from '../../scripts/steps/progress.mjs';
import { jsonOf } from '../support/child.mjs';
import { integer, none, range, table, times } from '../support/markdown.mjs';
import { median, noise, ratio, summarise } from '../support/stats.mjs';

/** leak-audit's options, by the name in the table. */
const asked = {
  off: undefined,
  counters: ['--mode', 'counters'],
  sample: ['--mode', 'sample'],
  'sample, after 12 s': ['--mode', 'sample'],
  'sample, 512 KiB': ['--mode', 'sample', '--sample-bytes', '512KiB'],
  full: ['--mode', 'full'],
  'full, 4 frames': ['--mode', 'full', '--frames', '4'],
  'full, 1 frame': ['--mode', 'full', '--frames', '1'],
};
const modes = Object.keys(asked);
/** The adaptive sampler records every storage at first; later it has its budget. */
const LATER = 'sample, after 12 s';
/** The largest overhead allowed, in nanoseconds. */
const goals = { counters: 100, full: 5_000 };
const leakAudit = inRoot('dist', 'cli', 'leak-audit.js');

async function measure({ auditRounds: rounds, audited, auditWarmMs }) {
  const taken = Object.fromEntries(modes.map((mode) => [mode, []]));
  for (let round = 0; round < rounds; round++) {
    for (const mode of modes) {
      const warmMs = mode === LATER ? auditWarmMs : 0;
      const program = [process.execPath, inRoot('bench', 'node', 'audit.cjs'), String(audited), String(warmMs)];
      const audit =
        asked[mode] === undefined ? [] : [process.execPath, leakAudit, 'run', '--quiet', ...asked[mode], '--'];
      const { ns } = await jsonOf([...audit, ...program], { quiet: true });
      taken[mode].push(ns);
    }
  }
  return taken;
}

/** @param {import('../plan.mjs').Plan} plan */
export async function auditSection(plan) {
  const taken = await step('audit', () => measure(plan));
  const rows = modes.map((mode) => {
    const extra = median(taken[mode].map((ns, round) => ns - taken.off[round]));
    const goal = goals[mode] === undefined ? none : `≤ ${integer(goals[mode])}`;
    return [mode, range(summarise(taken[mode])), integer(extra), goal, times(ratio(taken[mode], taken.off))];
  });
  return [
    '## The audit',
    `\`add\` of one element in scopes of 1,000, ${integer(plan.audited)} allocations, under \`leak-audit run --mode\`; ` +
      `nanoseconds per allocation, medians (min–max) of ${plan.auditRounds} rounds. \`sample\` adapts its distance: it records every ` +
      'storage at first, and after some 10 s as many as its budget allows.',
    table(['Mode', 'Whole', 'Over off', 'Goal', 'Of off'], rows),
    noise(modes.map((mode) => [`audit ${mode}`, summarise(taken[mode])])),
  ].join('\n\n');
}
