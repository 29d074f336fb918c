/** Ops off the event loop: their throughput, and the delay of the event loop during them. */
import { inRoot } from '../../scripts/paths.mjs';
import { step } from '../../scripts/steps/progress.mjs';
import { output } from '../support/child.mjs';
import { range, table, times } from '../support/markdown.mjs';
import { median, noise, summarise } from '../support/stats.mjs';

/** @param {import('../plan.mjs').Plan} plan */
export async function asyncSection({ asyncRounds, products, smallOps }) {
  const command = [process.execPath, inRoot('bench', 'node', 'async.cjs'), String(products), String(smallOps)];
  const rounds = await step('async', async () => {
    const answers = [];
    for (let round = 0; round < asyncRounds; round++) answers.push(JSON.parse(await output(command)));
    return answers;
  });
  const of = (field) => rounds.map((round) => round[field]);
  const throughput = median(rounds.map(({ sync, off }) => sync / off));
  const figures = [
    ['one small op, synchronous', summarise(of('here'))],
    ['one small op, `torch.async`', summarise(of('op'))],
    ['ten in a chain, `torch.run`', summarise(of('chain'))],
  ];
  return [
    '## Async',
    `${products} products of 800×800, all started at once, medians of ${asyncRounds} runs. The delay of the event loop is ` +
      "from Node's `monitorEventLoopDelay`, sampled every ms.",
    table(
      ['', 'Goal', 'Measured', ''],
      [
        [
          'throughput, `torch.async` / synchronous',
          '≥ 0.95×',
          times(throughput),
          throughput >= 0.95 ? 'met' : '**missed**',
        ],
        [
          'delay of the event loop, p99',
          '< 20 ms',
          `${median(of('p99')).toFixed(1)} ms`,
          median(of('p99')) < 20 ? 'met' : '**missed**',
        ],
      ],
    ),
    'Nanoseconds per call, each awaited before the next: median (min–max).',
    table(
      ['', 'ns'],
      figures.map(([title, summary]) => [title, range(summary)]),
    ),
    noise(figures),
  ].join('\n\n');
}
