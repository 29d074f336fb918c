/** A trace of a step shows collectives that run while the backward computes. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ask } from '../support/child';
import { LIB, type torch } from '../support/torch';
import { expectDone, nodes } from './ranks';

jest.setTimeout(240_000);

type Trace = Awaited<ReturnType<typeof torch.distributed.trace>>;

test('all-reduces of two ranks overlap the backward', async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'ltn-trace-'));
  try {
    expectDone(await nodes('trace.mjs', 2, [folder]));
    for (const rank of [0, 1]) {
      const { traceEvents } = JSON.parse(readFileSync(path.join(folder, `rank-${rank}.json`), 'utf8')) as Trace;
      const [label, call, ...spans] = traceEvents;
      expect(label).toMatchObject({ ph: 'M', name: 'process_name', args: { name: `rank ${rank}` } });
      const ends = ({ ts, dur }: (typeof spans)[number]) => ts! + dur!;
      for (const span of spans) {
        expect(span).toMatchObject({ ph: 'X', pid: rank, name: expect.any(String), tid: expect.any(Number) });
        expect(span.dur).toBeGreaterThanOrEqual(0);
        expect([span.ts! >= call!.ts!, ends(span) <= ends(call!)]).toEqual([true, true]);
      }
      const nodesOf = spans.filter(({ cat }) => cat === 'backward');
      const reductions = spans.filter(({ cat, name }) => cat === 'collective' && /all_?reduce/i.test(name));
      expect(nodesOf.filter(({ name }) => /^AddmmBackward/.test(name))).toHaveLength(6);
      expect(reductions).toHaveLength(7); // one for each bucket, and one of the program
      if (rank === 1) continue;
      const [first] = reductions;
      const during = nodesOf.filter(({ ts }) => ts! > first!.ts! && ts! < ends(first!));
      const addmm = during.filter(({ name }) => /^AddmmBackward/.test(name)).length;
      // All spans, if it fails.
      expect(addmm >= 3 ? [] : spans.map(({ name, ts, dur }) => [name, ts! - call!.ts!, dur])).toEqual([]);
      // Spans on one row of the viewer do not overlap.
      for (const one of reductions) {
        const others = reductions.filter(({ tid, ts }) => tid === one.tid && ts! > one.ts!);
        for (const other of others) expect(other.ts).toBeGreaterThanOrEqual(ends(one));
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('a worker that ends in the middle of a trace ends the trace', async () => {
  const answered = await ask(`
    const { Worker } = require('node:worker_threads');
    const text = "const torch = require(process.argv[2]);" +
      "torch.distributed.trace(() => { require('node:worker_threads').parentPort.postMessage(0); return new Promise(() => {}); });";
    const worker = new Worker(text, { eval: true, argv: [${JSON.stringify(LIB)}] });
    worker.once('message', async () => {
      await worker.terminate();
      answer((await torch.distributed.trace(() => {})).traceEvents.length);
    });`);
  expect(answered).toBe(2);
});
