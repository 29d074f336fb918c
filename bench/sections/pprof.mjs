/** The cost of a profile of live tensors (`libtorch-node/pprof`). */
import { inRoot } from '../../scripts/paths.mjs';
import { step } from '../../scripts/steps/progress.mjs';
import { jsonOf } from '../support/child.mjs';
import { integer, range, table } from '../support/markdown.mjs';
import { median, noise, summarise } from '../support/stats.mjs';

const GOAL_MS = 50;

/** @param {import('../plan.mjs').Plan} plan */
export async function pprofSection({ profiled, profileRounds }) {
  const program = [process.execPath, inRoot('bench', 'node', 'pprof.cjs'), String(profiled), String(profileRounds)];
  const { answers } = await step('pprof', () => jsonOf(program));
  const blocked = summarise(answers.map((answer) => answer.blocked));
  const whole = summarise(answers.map(({ ms }) => ms));
  const size = median(answers.map(({ bytes }) => bytes));
  return [
    '## Profiles',
    `A profile of \`libtorch-node/pprof\` of ${integer(profiled)} live tensors of 200 lines, every one with its stack: ` +
      `milliseconds, medians (min–max) of ${profileRounds} answers in one process; the answer has ${integer(size)} bytes. ` +
      'The rest of the answer is compression, off the event loop.',
    table(
      ['', 'Milliseconds', 'Goal'],
      [
        ['the event loop is blocked', range(blocked), `< ${GOAL_MS}`],
        ['the same in CPU time', range(summarise(answers.map(({ cpu }) => cpu))), '–'],
        ['the whole answer', range(whole), '–'],
      ],
    ),
    noise([
      ['profile, blocked', blocked],
      ['profile, whole', whole],
    ]),
  ].join('\n\n');
}
