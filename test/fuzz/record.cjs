/** Adds the figures of a run to the table of docs/reliability.md. */
'use strict';

const fs = require('node:fs');
const path = require('node:path');

const PAGE = path.resolve(__dirname, '../../docs/reliability.md');
const END = '<!-- runs end -->';
const COLUMNS = [
  'libtorch',
  'source',
  'calls',
  'minutes',
  'results',
  'errors',
  'crashes',
  'slow',
  'memory',
  'noCode',
  'left',
];

function record(row) {
  const page = fs.readFileSync(PAGE, 'utf8');
  if (!page.includes(END)) throw new Error(`${PAGE}: expected ${END}`);
  const line = `| ${COLUMNS.map((name) => row[name].toLocaleString('en')).join(' | ')} |\n`;
  fs.writeFileSync(PAGE, page.replace(END, line + END));
}

module.exports = { record };
