/** The cost of a report of a large capture: time, memory, and the size of the page. */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inRoot } from '../../scripts/paths.mjs';
import { step } from '../../scripts/steps/progress.mjs';
import { jsonOf } from '../support/child.mjs';
import { writeHugeCapture } from '../support/huge-capture.mjs';
import { integer, megabytes, range, table } from '../support/markdown.mjs';
import { median, noise, summarise } from '../support/stats.mjs';

const GOAL_SECONDS = 10;
const GOAL_BYTES = 500e6;
const LIMIT_SECONDS = 600;

const captures = (events) => [
  { title: `${integer(events)} events: births, and deaths some rounds later`, births: events / 2, surviving: 0 },
  { title: `${integer(events)} tensors that all survive`, births: events, surviving: 1 },
];

async function measure({ reportRounds, events }) {
  const folder = mkdtempSync(path.join(tmpdir(), 'leak-audit-bench-'));
  try {
    const results = [];
    for (const { title, ...what } of captures(events)) {
      const [capture, page] = ['capture.ltna', 'page.html'].map((name) => path.join(folder, name));
      writeHugeCapture(capture, what);
      const leakAudit = [
        process.execPath,
        '-r',
        inRoot('bench', 'node', 'peak.cjs'),
        inRoot('dist', 'cli', 'leak-audit.js'),
      ];
      const taken = [];
      for (let round = 0; round < reportRounds; round++) {
        taken.push(await jsonOf([...leakAudit, 'report', capture, '--html', page], { seconds: LIMIT_SECONDS }));
      }
      results.push({ title, taken, size: statSync(capture).size, page: statSync(page).size });
    }
    return results;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @param {import('../plan.mjs').Plan} plan */
export async function reportsSection(plan) {
  const results = await step('reports', () => measure(plan));
  const rows = results.map(({ title, taken, size, page }) => [
    title,
    megabytes(size),
    range(summarise(taken.map(({ seconds }) => seconds))),
    median(taken.map(({ cpu }) => cpu)).toFixed(1),
    megabytes(median(taken.map(({ peak }) => peak))),
    megabytes(page),
  ]);
  return [
    '## Reports of large captures',
    `\`leak-audit report --html\` of a capture of one hour with 3,600 rounds of 200 sites (bench/support/huge-capture.mjs), ` +
      `${plan.reportRounds} rounds. Goals for ten million events: ${GOAL_SECONDS} s and ${megabytes(GOAL_BYTES)}.`,
    table(['Capture', 'Its size', 'Seconds', 'in CPU time', 'Peak RSS', 'The page'], rows),
    noise(results.map(({ title, taken }) => [title, summarise(taken.map(({ seconds }) => seconds))])),
  ].join('\n\n');
}
