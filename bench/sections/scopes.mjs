/** The cost of scopes, and whether code without async scopes pays for them. */
import { pasts, scopeLoops } from '../measure/scopes.mjs';
import { range, table, times } from '../support/markdown.mjs';
import { noise, ratio, summarise } from '../support/stats.mjs';

/** @param {import('../plan.mjs').Plan} _plan @param {import('../measured.mjs').Measured} measured */
export async function scopesSection(_plan, measured) {
  const { ns } = await measured.scopes();
  const loops = Object.entries(scopeLoops);
  const rows = loops.map(([loop, title]) => [
    title,
    range(summarise(ns.never[loop])),
    ...Object.keys(pasts)
      .slice(1)
      .map((past) => times(ratio(ns[past][loop], ns.never[loop]))),
  ]);
  const figures = loops.map(([loop, title]) => [title, summarise(ns.never[loop])]);
  const [, ...others] = Object.values(pasts);
  return [
    '## Scopes',
    'Nanoseconds per call in a process that has never used an async scope, median (min–max), and the same loop as a ' +
      'multiple of that in processes where: 1,000 interleaved async scopes have ended; the loop runs inside an ' +
      '`AsyncLocalStorage` of the program; an async scope of other code is open.',
    table(['', 'ns', ...others], rows),
    noise(figures),
  ].join('\n\n');
}
