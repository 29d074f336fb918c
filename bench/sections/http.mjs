/** The overhead of leak-audit in a service: throughput and latency over HTTP, by mode, against the unaudited service. */
import { inRoot } from '../../scripts/paths.mjs';
import { step } from '../../scripts/steps/progress.mjs';
import { Responder } from '../support/child.mjs';
import { integer, none, range, table, times } from '../support/markdown.mjs';
import { median, noise, ratio, summarise } from '../support/stats.mjs';

const modes = ['off', 'counters', 'sample', 'full'];
/** With 100 tensors each: 10,000 tensors per second. */
const PER_SECOND = 100;
const SLACK_SECONDS = 60;
/** The largest loss of throughput and increase of the 99th percentile, by mode; `full` does not have a goal here. */
const goals = { counters: { throughput: 0.01 }, sample: { throughput: 0.03, p99: 0.03 } };

function serviceIn(mode) {
  const service = [process.execPath, inRoot('bench', 'node', 'http.cjs')];
  const audit = [process.execPath, inRoot('dist', 'cli', 'leak-audit.js'), 'run', '--quiet', '--mode', mode, '--'];
  return new Responder(mode, mode === 'off' ? service : [...audit, ...service]);
}

/** All services run all the time and are measured in turn, so that a temporary slowdown of the machine affects all. */
async function measure({ httpRounds, httpMs }) {
  const services = Object.fromEntries(modes.map((mode) => [mode, serviceIn(mode)]));
  const ask = (mode, how, ms) => services[mode].ask(`${how} ${ms} ${PER_SECOND}`, ms / 1000 + SLACK_SECONDS);
  const taken = Object.fromEntries(modes.map((mode) => [mode, { closed: [], paced: [] }]));
  // The first round warms up.
  for (let round = -1; round < httpRounds; round++) {
    for (const how of ['closed', 'paced']) {
      for (const mode of modes) {
        const seen = await ask(mode, how, httpMs[how]);
        if (round >= 0) taken[mode][how].push(seen);
      }
    }
  }
  for (const mode of modes) services[mode].end();
  return taken;
}

const goal = (share) => (share === undefined ? none : `≤ ${Math.round(100 * share)}%`);
const percent = (value) => `${value >= 0 ? '+' : '-'}${Math.abs(100 * value).toFixed(1)}%`;

/** @param {import('../plan.mjs').Plan} plan */
export async function httpSection(plan) {
  const taken = await step('http', () => measure(plan));
  const of = (mode, how, what) => taken[mode][how].map((seen) => seen[what]);
  const against = (mode, how, what) => ratio(of(mode, how, what), of('off', how, what));
  const rows = modes.map((mode) => [
    mode,
    range(summarise(of(mode, 'closed', 'perSecond'))),
    mode === 'off' ? none : percent(against(mode, 'closed', 'perSecond') - 1),
    goal(goals[mode]?.throughput),
    mode === 'off'
      ? none
      : integer(median(of(mode, 'closed', 'cpu').map((us, i) => us - of('off', 'closed', 'cpu')[i]))),
    times(against(mode, 'closed', 'cpu')),
  ]);
  const delays = modes.map((mode) => [
    mode,
    range(summarise(of(mode, 'paced', 'p50'))),
    range(summarise(of(mode, 'paced', 'p99'))),
    mode === 'off' ? none : percent(against(mode, 'paced', 'p99') - 1),
    goal(goals[mode]?.p99),
    times(against(mode, 'paced', 'cpu')),
  ]);
  return [
    '## The audit of a service',
    'A node:http service with 100 tensors per request in a scope (bench/node/http.cjs), its clients in another process, ' +
      `under \`leak-audit run --mode\`: medians (min–max) of ${plan.httpRounds} rounds; differences are medians of those ` +
      'within a round.',
    `Four clients, each with one request in flight, ${plan.httpMs.closed / 1000} s per round: requests per second, and the ` +
      'CPU microseconds that the audit adds to a request.',
    table(['Mode', 'Requests/s', 'Against off', 'Goal', 'CPU µs added', 'CPU of off'], rows),
    `At ${PER_SECOND} requests (10,000 tensors) per second, ${plan.httpMs.paced / 1000} s per round: milliseconds.`,
    table(['Mode', 'p50', 'p99', 'p99 against off', 'Goal', 'CPU of off'], delays),
    noise(
      modes.flatMap((mode) => [
        [`throughput ${mode}`, summarise(of(mode, 'closed', 'perSecond'))],
        [`p99 ${mode}`, summarise(of(mode, 'paced', 'p99'))],
      ]),
    ),
  ].join('\n\n');
}
