/** The cost of a call besides the op. */
import { data, forms } from '../measure/calls.mjs';
import { range, table, times } from '../support/markdown.mjs';
import { median, noise, ratio, summarise } from '../support/stats.mjs';

/** The median of the differences within a round. @param {number[]} values @param {number[]} base */
export const added = (values, base) => median(values.map((value, round) => value - base[round]));

const milliseconds = (values) => values.map((value) => value / 1e6);

/** @param {import('../plan.mjs').Plan} plan @param {import('../measured.mjs').Measured} measured */
export async function callsSection(plan, measured) {
  const { ns } = await measured.calls();
  const formRows = Object.entries(forms).flatMap(([base, others]) =>
    Object.entries(others).map(([name, title]) => [
      title,
      range(summarise(ns[base])),
      range(summarise(ns[name])),
      added(ns[name], ns[base]).toFixed(0),
    ]),
  );
  const dataRows = Object.entries(data).flatMap(([base, others]) =>
    Object.entries(others).map(([name, title]) => [
      title,
      range(summarise(milliseconds(ns[base]))),
      range(summarise(milliseconds(ns[name]))),
      times(ratio(ns[name], ns[base])),
    ]),
  );
  return [
    '## Calls',
    'Nanoseconds per call, median (min–max), in a scope around 1,000 calls: the raw native entry with prepared arguments ' +
      '(handles, a packed list, explicit defaults) and its result made a tensor; the same op by a form of call; and the ' +
      `overhead of that form, the median of the differences within ${plan.rounds} rounds.`,
    table(['', 'Raw entry', 'By this form', 'Adds'], formRows),
    'Ten million numbers, milliseconds, median (min–max): a plain copy to a `Float32Array` (`slice`, or a loop over the ' +
      'arrays), the tensor, and the median of the ratios within a round.',
    table(['', 'Plain copy', 'Tensor', 'Tensor / copy'], dataRows),
    noise([...formRows, ...dataRows].map(([title], i) => [title, summarise(ns[allNames[i]])])),
  ].join('\n\n');
}

const allNames = [forms, data].flatMap((groups) => Object.values(groups).flatMap((others) => Object.keys(others)));
