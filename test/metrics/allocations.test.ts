/** Large allocations on the diagnostics channel, without any cost while there are no subscribers. */
import * as diagnosticsChannel from 'node:diagnostics_channel';
import { ask } from '../support/child';
import { codeOf, torch, untyped } from '../support/torch';

const CHANNEL = 'libtorch-node:allocation';

type Event = import('libtorch-node').AllocationEvent;

/** The messages published during `fn`. */
function announced(threshold: number | null, fn: () => unknown): Event[] {
  const events: Event[] = [];
  const listen = (event: unknown) => events.push(event as Event);
  const before = torch.getAllocationThreshold();
  torch.setAllocationThreshold(threshold);
  diagnosticsChannel.subscribe(CHANNEL, listen);
  try {
    torch.scope(() => void fn());
  } finally {
    diagnosticsChannel.unsubscribe(CHANNEL, listen);
    torch.setAllocationThreshold(before);
  }
  return events;
}

test('bytes, dtype, device, shape and the line', () => {
  const events = announced(4000, () => {
    torch.ones([10]);
    torch.ones([10, 100]);
    torch.ones([499], { dtype: 'float64' });
    torch.zeros([500], { dtype: 'int64' });
  });
  expect(events.map(({ bytes, dtype, device, shape }) => ({ bytes, dtype, device, shape }))).toEqual([
    { bytes: 4000, dtype: 'float32', device: 'cpu', shape: [10, 100] },
    { bytes: 4000, dtype: 'int64', device: 'cpu', shape: [500] },
  ]);
  expect(events[0]!.site).toContain(__filename);
  expect(events[0]!.stack.split('\n').length).toBeGreaterThan(1);
});

test('each storage once: without views and in-place ops, all results of an op', () => {
  const events = announced(4000, () => {
    const base = torch.ones([2000]);
    base.view([2, 1000]).add_(1).detach();
    torch.fromTypedArray(new Float32Array(5000)); // memory of JavaScript
    base.view([1000, 2]).max(1);
  });
  expect(events.map(({ bytes, dtype }) => `${bytes} ${dtype}`)).toEqual(['8000 float32', '4000 float32', '8000 int64']);
});

test('allocations of subscribers, and those without a subscriber, are not published', () => {
  let calls = 0;
  const listen = () => {
    calls++;
    torch.ones([5000]).dispose();
  };
  torch.setAllocationThreshold(4000);
  const channel = diagnosticsChannel.channel(CHANNEL);
  channel.subscribe(listen);
  torch.ones([2000]).dispose();
  expect(calls).toBe(1);
  expect(channel.unsubscribe(listen)).toBe(true);
  expect(channel.unsubscribe(listen)).toBe(false);
  expect(channel.hasSubscribers).toBe(false);
  torch.ones([2000]).dispose();
  torch.setAllocationThreshold(null);
  channel.subscribe(listen);
  torch.ones([2000]).dispose();
  channel.unsubscribe(listen);
  torch.setAllocationThreshold(16 * 2 ** 20);
  expect(calls).toBe(1);
});

test('results of torch.async and torch.run have the line of their call', async () => {
  const events: Event[] = [];
  const listen = (event: unknown) => events.push(event as Event);
  torch.setAllocationThreshold(4000);
  diagnosticsChannel.subscribe(CHANNEL, listen);
  try {
    (await torch.async.ones([1000])).dispose();
  } finally {
    diagnosticsChannel.unsubscribe(CHANNEL, listen);
    torch.setAllocationThreshold(16 * 2 ** 20);
  }
  expect(events.map(({ bytes }) => bytes)).toEqual([4000]);
  expect(events[0]!.site).toContain(__filename);
});

test('subscriptions before the library is loaded, in several threads, and by source line', async () => {
  const figures = await ask(`
    const { Worker } = require('node:worker_threads');
    const program = \`
      const { parentPort, workerData } = require('node:worker_threads');
      const events = [];
      require('node:diagnostics_channel').subscribe('${CHANNEL}', ({ bytes, site }) => events.push([bytes, site]));
      const torch = require(workerData);
      torch.ones([1 << 22]);
      torch.ones([1 << 23]);
      parentPort.postMessage(events);
    \`;
    const worker = new Worker(program, { eval: true, workerData: ${JSON.stringify(require.resolve('libtorch-node'))} });
    const mine = [];
    require('node:diagnostics_channel').subscribe('${CHANNEL}', ({ bytes }) => mine.push(bytes));
    worker.on('message', (events) => {
      worker.terminate();
      torch.ones([1 << 22]);
      answer({ events, mine });
    });
  `);
  expect(figures.events.map(([bytes]: [number]) => bytes)).toEqual([2 ** 24, 2 ** 25]);
  expect(figures.events[1][1]).toMatch(/\[worker eval\]:7:/);
  expect(figures.mine).toEqual([2 ** 24]);
});

test('without a subscriber new tensors take the fast path, whatever the threshold', async () => {
  // Like the audit, a subscriber gives each storage an entry in the ledger; without one a plain result does not have one.
  const listening = await ask(`
    const { native } = require(require('node:path').join(${JSON.stringify(require.resolve('libtorch-node'))}, '../addon/native.js'));
    const channel = require('node:diagnostics_channel').channel('${CHANNEL}');
    const seen = [];
    torch.setAllocationThreshold(1);
    seen.push(native.announcer.on);
    const listen = () => {};
    channel.subscribe(listen);
    seen.push(native.announcer.on);
    channel.unsubscribe(listen);
    seen.push(native.announcer.on);
    torch.ones([2]);
    seen.push(native.watchTakeLarge().length, native.flags[0]);
    answer(seen);
  `);
  expect(listening).toEqual([false, true, false, 0, 0]);
});

test('wrong use', () => {
  expect(codeOf(() => untyped.setAllocationThreshold('1'))).toBe('ERR_TORCH_ARGUMENT');
  expect(codeOf(() => torch.setAllocationThreshold(-1))).toBe('ERR_TORCH_ARGUMENT');
  expect(codeOf(() => torch.setAllocationThreshold(0.5))).toBe('ERR_TORCH_ARGUMENT');
});
