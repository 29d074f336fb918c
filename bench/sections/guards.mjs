/** What the checks before an op cost (codegen/spec/guards). */
import { guards, readElements } from '../measure/guards.mjs';
import { none, table } from '../support/markdown.mjs';
import { median, ratio } from '../support/stats.mjs';

/** Nanoseconds that a condition over sizes, dtypes and numbers may take. */
const MOST = 10;

/** @param {import('../plan.mjs').Plan} plan @param {import('../measured.mjs').Measured} measured */
export async function guardsSection({ rounds, ms }, measured) {
  const { guard, op } = await measured.guards();
  const rows = Object.entries(guards).map(([name, looks]) => {
    const ns = median(guard[name]);
    const verdict = readElements.includes(name) ? none : ns < MOST ? 'met' : '**missed**';
    const share = `${(100 * ratio(guard[name], op[name])).toFixed(1)}%`;
    return [`\`${name}\``, looks, ns.toFixed(1), median(op[name]).toFixed(0), share, verdict];
  });
  return [
    '## Guards',
    'The condition that is checked before an op, as it is emitted, on small arguments that it accepts, and the op behind it, both ' +
      `from C++: nanoseconds of CPU time, medians of ${rounds} rounds of ${ms} ms. Goal: less than ${MOST}, except where elements ` +
      'are read. An op without a guard has nothing to pay: its row in the table is the function of libtorch itself.',
    table(['', 'looks at', 'Guard', 'Op', 'Of the op', ''], rows),
  ].join('\n\n');
}
