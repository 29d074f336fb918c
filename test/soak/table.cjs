/** The table of a run, and its place in docs/reliability.md. */
'use strict';

const fs = require('node:fs');
const path = require('node:path');

const PAGE = path.resolve(__dirname, '../../docs/reliability.md');
const [BEGIN, END] = ['<!-- soak begins -->', '<!-- soak ends -->'];

const mib = (bytes) => (bytes / 2 ** 20).toFixed(0);

function tableOf({ seed, minutes, rounds, rows, counts, failures }) {
  const lines = [
    `${minutes} minutes, ${rounds} rounds, seed ${seed}: ${failures.length === 0 ? 'no failure' : `${failures.length} failures`}.`,
    '',
    '| process | checks of bytes | tensors | bytes | wrong | MiB of its own: first rounds, at most, last | files | threads |',
    '| --- | --- | --- | --- | --- | --- | --- | --- |',
    ...rows.map(
      ({ name, rounds, tensors, bytes, wrong, first, most, last, restarts }) =>
        `| ${[
          restarts > 0 ? `${name} (${restarts} restarts)` : name,
          rounds,
          tensors,
          bytes.toLocaleString('en'),
          wrong,
          [first, most, last].map(({ own }) => mib(own)).join(', '),
          last.files,
          last.threads,
        ].join(' | ')} |`,
    ),
    '',
    ...counts.map(({ name, counts }) => {
      const all = Object.entries(counts).sort(([a], [b]) => a.localeCompare(b));
      return `- ${name}: ${all.map(([what, count]) => `${what}: ${count.toLocaleString('en')}`).join(', ')}`;
    }),
    ...(failures.length === 0
      ? []
      : [
          '',
          ...failures.slice(0, 20).map(({ round, text }) => `- round ${round}: ${text.split('\n')[0].slice(0, 300)}`),
        ]),
  ];
  return `${lines.join('\n')}\n`;
}

/** Replaces the table of the run before. */
function record(table) {
  const page = fs.readFileSync(PAGE, 'utf8');
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`${PAGE}: expected ${BEGIN} and ${END}`);
  fs.writeFileSync(PAGE, `${page.slice(0, begin + BEGIN.length)}\n\n${table}\n${page.slice(end)}`);
}

module.exports = { record, tableOf };
