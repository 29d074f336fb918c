/** The contents of a capture: modes, sizes, labels. With the built command and the built addon. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import type { Capture } from '../../cli/capture/capture';
import { GraphFlag } from '../../cli/capture/format';
import { readCapture } from '../../cli/capture/reader';
import type { Labels, Series } from '../../cli/capture/records';
import type { Outcome } from '../support/child';
import { auditProgram, fixture, leakAudit } from './command';

const TIMEOUT_MS = 600_000;
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'audit-recording-'));
afterAll(() => fs.rmSync(folder, { recursive: true }));

let captures = 0;
async function record(
  program: string[],
  options: string[] = [],
): Promise<{ file: string; capture: Capture } & Outcome> {
  const file = path.join(folder, `${captures++}.ltna`);
  const run = ['run', '--quiet', '--interval', '400ms', '--json', path.join(folder, 'ignored.json'), '-o', file];
  const outcome = await auditProgram(...run, ...options, '--', 'node', ...program);
  return { ...outcome, file, capture: readCapture(file) };
}

const last = (values: number[]) => values.at(-1) ?? 0;
/** The series whose innermost frame is on this line. */
const atLine = (capture: Capture, line: number): Series[] =>
  [...capture.series.values()].filter((series) => capture.stacks.get(series.siteId)?.[0]?.line === line);
const total = (series: Series[], of: (one: Series) => number[]) => series.reduce((sum, one) => sum + last(of(one)), 0);

test(
  'full: every surviving tensor is recorded with its shape, in at most 64 bytes',
  async () => {
    const count = 20_000;
    const { capture, file, code } = await record([fixture('survivors.cjs'), String(count)]);
    expect(code).toBe(0);
    const live = [...capture.liveTensors()];
    expect(live).toHaveLength(count);
    expect(new Set(live.map((one) => one.shape?.join()))).toEqual(new Set(['4,4']));
    expect(live.every((one) => one.bytes === 64 && one.dtype === 'float32' && !one.isView)).toBe(true);
    expect([6, 15].map((number) => capture.start?.dtypes?.[number])).toEqual(['float32', 'bfloat16']);
    const site = atLine(capture, 8);
    expect(total(site, (one) => one.liveTensors)).toBe(count);
    expect(total(site, (one) => one.liveBytes)).toBe(count * 64);
    expect(capture.lost).toBe(0);
    expect(capture.processes).toEqual([expect.objectContaining({ ended: 'exit', startMs: 0 })]);
    // The bytes per round besides births: totals and the rows of two sites.
    const rounds = capture.ticks.length * 400;
    expect(fs.statSync(file).size - rounds).toBeLessThanOrEqual(64 * count);
  },
  TIMEOUT_MS,
);

test(
  'the owner of each tensor: the collector, a scope, or the collector after a scope; also if it changes later',
  async () => {
    const { capture } = await record(['--expose-gc', fixture('owners.cjs')]);
    const live = [...capture.liveTensors()].sort((a, b) => a.shape![0]! - b.shape![0]!);
    expect(live.map((one) => [one.shape, one.owner])).toEqual([
      [[1], 'collector'],
      [[2], 'scope'],
      [[3], 'kept'],
      [[4], 'kept'],
      [[5], 'scope'],
    ]);
    const [, outer, , , movedOn] = live.map((one) => one.scope);
    expect(outer).toBeGreaterThan(0);
    expect(movedOn).toBe(outer);
    // All were made before that collection, and survived it.
    const collected = capture.ticks.at(-1)!.collectedMs!;
    expect(live.filter((one) => one.birthMs >= collected)).toEqual([]);
    expect(collected).toBeLessThan(capture.durationMs);
  },
  TIMEOUT_MS,
);

test(
  'tokens, the lines that opened scopes, storages inside tensors, and graphs on gradients are recorded',
  async () => {
    const { capture } = await record(['--expose-gc', fixture('counted.cjs')]);
    const lineOf = (site: number) => capture.stacks.get(site)?.[0]?.line;
    const [tokens, ...others] = [...capture.tokens.values()];
    expect(others).toEqual([]);
    expect(tokens).toMatchObject({ made: 5, taken: 2, waiting: 2, waitingBytes: 2 * 1024 });
    expect([lineOf(tokens!.siteId), lineOf(tokens!.origin)]).toEqual([6, 6]);
    const [detail] = capture.details;
    const owned = [...capture.liveTensors()].filter(({ scope }) => scope > 0);
    expect(owned.map(({ shape }) => shape)).toEqual([[3]]);
    expect(lineOf(detail!.openings.siteOf(owned[0]!.environment, owned[0]!.scope)!)).toBe(16);
    // Two indices of 8 bytes and two values of 4, each storage once.
    const sparse = atLine(capture, 19).filter((series) => lineOf(series.siteId) === 19);
    expect(total(sparse, (one) => one.liveBytes)).toBe(24);
    const graphs = [...capture.graphs.values()].filter(({ nodes }) => last(nodes) > 0);
    expect(graphs.map(({ siteId, flags }) => [lineOf(siteId), last(flags) & GraphFlag.onGradient])).toEqual([
      [20, GraphFlag.onGradient],
    ]);
  },
  TIMEOUT_MS,
);

test(
  '--frames: that number of innermost frames is kept',
  async () => {
    const { capture } = await record([fixture('sizes.cjs')], ['--frames', '2']);
    expect(capture.start?.depth).toBe(2);
    const stacks = [...capture.stacks.values()];
    expect(new Set(stacks.map((stack) => stack.length))).toEqual(new Set([2]));
    expect(new Set(stacks.map((stack) => stack[0]!.line))).toEqual(new Set([5, 6, 8, 9]));
  },
  TIMEOUT_MS,
);

test(
  'sample: tensors as large as the interval are exact, the rest is estimated without bias',
  async () => {
    const { capture } = await record([fixture('sizes.cjs')], ['--mode', 'sample', '--sample-bytes', '1MiB']);
    expect(capture.start).toMatchObject({ mode: 'sample', sampleBytes: 2 ** 20 });
    const big = atLine(capture, 5);
    expect(total(big, (one) => one.liveTensors)).toBe(3);
    expect(total(big, (one) => one.liveBytes)).toBe(3 * 2 ** 20);
    // 3,000 storages, each drawn with a probability of 6%: a standard deviation of 7%. The tolerance is six of them.
    for (const line of [8, 9]) {
      const made = total(atLine(capture, line), (one) => one.allocatedTensors);
      expect(made).toBeGreaterThan(3000 * 0.55);
      expect(made).toBeLessThan(3000 * 1.45);
    }
    const kept = atLine(capture, 8);
    expect(total(kept, (one) => one.liveTensors)).toBe(total(kept, (one) => one.allocatedTensors));
    expect(total(atLine(capture, 9), (one) => one.liveTensors)).toBe(0);
    const drawn = [...capture.liveTensors()].filter((one) => one.bytes === 2 ** 16);
    expect(drawn.length).toBeLessThan(1000);
    const estimate = drawn.reduce((sum, one) => sum + one.weight, 0);
    expect(Math.abs(estimate - total(kept, (one) => one.liveTensors))).toBeLessThan(drawn.length * 0.01 + 1);
    // The totals are exact.
    expect(capture.ticks.at(-1)?.tensors).toBe(3004);
  },
  TIMEOUT_MS,
);

test(
  'sample without a distance: exact totals and work, and estimates without bias after the first storages',
  async () => {
    const { capture } = await record([fixture('sizes.cjs')], ['--mode', 'sample']);
    expect(capture.ticks.at(-1)).toMatchObject({ tensors: 3004, made: 6004 });
    expect(capture.start).toMatchObject({ sampleBytes: 2 ** 19 });
    // The first storages are all recorded, so the deviation is below that of a fixed distance.
    for (const line of [8, 9]) {
      const made = total(atLine(capture, line), (one) => one.allocatedTensors);
      expect(made).toBeGreaterThan(3000 * 0.55);
      expect(made).toBeLessThan(3000 * 1.45);
    }
    expect(total(atLine(capture, 5), (one) => one.liveTensors)).toBe(3);
  },
  TIMEOUT_MS,
);

test(
  'counters: exact totals without sites',
  async () => {
    const { capture } = await record([fixture('sizes.cjs')], ['--mode', 'counters']);
    expect(capture.ticks.at(-1)).toMatchObject({ tensors: 3004, storages: 3004 });
    expect(capture.ticks.at(-1)!.bytes).toBe(3 * 2 ** 20 + 3000 * 2 ** 14 + 3000 * 2 ** 16);
    expect(capture.series.size).toBe(0);
    expect([...capture.liveTensors()]).toEqual([]);
    expect(capture.lost).toBe(0);
  },
  TIMEOUT_MS,
);

test(
  '--max-size is kept, and the totals stay exact',
  async () => {
    const count = 30_000; // 1.4 MB of births
    const cap = 256 * 1024;
    const { capture, file } = await record([fixture('survivors.cjs'), String(count)], ['--max-size', String(cap)]);
    expect(fs.statSync(file).size).toBeLessThanOrEqual(cap);
    expect(fs.readdirSync(folder).filter((name) => name.startsWith(path.basename(file)))).toHaveLength(1);
    expect(capture).toMatchObject({ capped: true, lost: 0, tornBytes: 0 });
    expect(capture.start?.maxBytes).toBe(cap);
    const site = atLine(capture, 8);
    expect(total(site, (one) => one.liveTensors)).toBe(count);
    expect(capture.ticks.at(-1)?.tensors).toBe(count);
    const kept = [...capture.liveTensors()].length;
    expect(kept).toBeGreaterThan(500);
    expect(kept + capture.droppedDetail).toBe(count);
    expect(capture.end?.reason).toBe('exit');
  },
  TIMEOUT_MS,
);

test(
  'labels follow asynchronous contexts, and each has its own counters',
  async () => {
    const { capture, stdout, file } = await record([fixture('labels.cjs')]);
    expect(stdout).toMatch(/^\/a,\/b\n/);
    const live = new Map<string, number>();
    for (const { labelId } of capture.liveTensors()) {
      const key = JSON.stringify(capture.labels.get(labelId) ?? {});
      live.set(key, (live.get(key) ?? 0) + 1);
    }
    const of = (labels: Labels) => live.get(JSON.stringify(labels));
    for (const route of ['/a', '/b']) {
      expect(of({ route })).toBe(4);
      expect(of({ route, user: '7' })).toBe(1);
    }
    expect(of({ job: 'true' })).toBe(1);
    expect(of({})).toBe(2);
    const byLabel = [...capture.series.values()].filter((series) => series.labelId !== 0);
    expect(total(byLabel, (one) => one.liveTensors)).toBe(11);
    // 1,200 values: not each gets its own counters.
    expect(capture.labels.size).toBeLessThan(1100);
    expect([...capture.labels.values()]).toContainEqual({ id: '(other)' });

    const shown = await leakAudit('report', file, '--by', 'route');
    expect(shown.stdout).toMatch(/live +live bytes +allocated +bytes +route\n/);
    expect(shown.stdout).toMatch(/5 +160 B +\d+ +\d+ B +\/a\n/);
    expect(shown.stdout).toMatch(/3 +96 B +.* \(none\)\n/);
    const unknown = await leakAudit('report', file, '--by', 'tenant');
    expect(unknown.stderr).toMatch(/no label 'tenant': it has id, job, route, user/);
    expect(unknown.code).toBe(2);
  },
  TIMEOUT_MS,
);
