/** The service's section of bench/RESULTS.md. */
import { integer, megabytes, none, range, table, times } from '../support/markdown.mjs';
import { median, noise, summarise } from '../support/stats.mjs';
import { perSecond } from './measure.mjs';
import { trend } from './trend.mjs';

export const HEADING = '## Service';

const verdict = (met) => (met ? 'met' : '**missed**');
const statuses = (rounds) => rounds.flatMap(({ load }) => Object.keys(load.answers));
const sum = (values) => values.reduce((a, b) => a + b, 0);

/** "0.9 (0.8–1.2)": the median and range of a figure over the rounds. */
const shown = (rounds, figure) => range(summarise(rounds.map(figure)));

function row(title, rounds) {
  const answers = sum(rounds.map(({ load }) => load.answers[200] ?? 0));
  const others = sum(rounds.map(({ load }) => sum(Object.values(load.answers)) - (load.answers[200] ?? 0) + load.lost));
  const delays = rounds.map(({ delay }) => delay);
  return [
    title,
    shown(rounds, perSecond),
    shown(rounds, ({ load }) => load.ms.p50),
    shown(rounds, ({ load }) => load.ms.p99),
    shown(rounds, ({ load, cpu }) => (1e6 * cpu) / (load.answers[200] ?? 1)),
    delays.includes(undefined) ? none : range(summarise(delays)),
    megabytes(Math.max(...rounds.map(({ rss }) => rss))),
    integer(others),
    `${((100 * sum(rounds.map(({ load }) => load.right))) / answers).toFixed(1)}%`,
  ];
}

/**
 * @param {object} measured
 * @param {Record<string, import('./measure.mjs').Round[]>} measured.rounds the first is libtorch-node
 * @param {import('./measure.mjs').Series} measured.live
 * @param {Awaited<ReturnType<import('./measure.mjs').endUnderLoad>>} measured.end
 * @param {{ rounds: number, seconds: number, connections: number }} plan
 * @param {string[]} missing
 */
export function report({ rounds, live, end }, plan, missing) {
  const [[, own], ...others] = Object.entries(rounds);
  const pythons = others.filter(([title]) => title.startsWith('Python'));
  const against = (figure) => (measured) => median(own.map((round, i) => figure(round) / figure(measured[i]))); // within a round
  const worst = (pick, figure) => pick(...pythons.map(([, python]) => against(figure)(python)));
  const speed = worst(Math.min, perSecond);
  const p99 = worst(Math.max, ({ load }) => load.ms.p99);
  const { slope, margin } = trend(live);
  const perMinute = (value) => `${integer(60 * value)} B`;
  const isFlat = Math.abs(slope) <= margin || slope === 0;
  const lost = end.load.lost + (end.begun - end.answered);
  const goals = [
    ...(pythons.length === 0
      ? []
      : [
          ['requests/s, as a multiple of the better Python', '> 1×', times(speed), verdict(speed > 1)],
          ['p99, as a multiple of the better Python', '< 1×', times(p99), verdict(p99 < 1)],
        ]),
    [
      'live bytes, slope in a minute',
      '0 within its 95%',
      `${perMinute(slope)} ± ${perMinute(margin)}`,
      verdict(isFlat),
    ],
    [
      `requests lost by SIGTERM under load, of ${integer(end.begun)}; exit status`,
      '0; 0',
      `${lost}; ${end.status}`,
      verdict(lost === 0 && end.status === 0),
    ],
  ];
  const values = live.map(({ value }) => value);
  const head = ['', 'requests/s', 'p50, ms', 'p99, ms', 'CPU, µs a request', 'loop delay p99, ms', 'RSS', 'not 200'];
  return [
    HEADING,
    `examples/service and the same model (examples/service/model.py: two convolutions, 28×28 to 10) in Python and in ` +
      `onnxruntime, one process each, ${plan.connections} connections with one request in flight, JSON of 784 numbers: ` +
      `medians (min–max) of ${plan.rounds} rounds of ${plan.seconds} s, all services in turn within a round; clients and ` +
      'services share the machine. Batches: libtorch-node and onnxruntime-node up to 32 requests, with the same queue; the ' +
      'Python services one at a time, http.server in a thread per connection, uvicorn on its loop. The event-loop delay is ' +
      'from `monitorEventLoopDelay` at 1 ms. RSS is the peak.',
    table(
      [...head, 'read right'],
      Object.entries(rounds).map(([title, measured]) => row(title, measured)),
    ),
    ...missing.map((text) => `Left out: ${text}.`),
    table(['', 'Goal', 'Measured', ''], goals),
    `Live bytes: ${live.length} samples between ${integer(Math.min(...values))} and ${integer(Math.max(...values))}, the ` +
      `first ${integer(values[0])}, the last ${integer(values.at(-1))}. At the end: ${integer(end.begun)} requests begun, ` +
      `${integer(end.answered)} answered, ${end.load.closed} of ${plan.connections} connections closed by the protocol` +
      `${statuses([end]).join() === '200' ? '' : `, statuses ${statuses([end]).join(', ')}`}.`,
    noise(
      Object.entries(rounds).flatMap(([title, measured]) => [
        [`requests/s of ${title}`, summarise(measured.map(perSecond))],
        [`p99 of ${title}`, summarise(measured.map(({ load }) => load.ms.p99))],
      ]),
    ),
  ].join('\n\n');
}
