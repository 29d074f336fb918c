/** Malicious captures: wrong types, huge counts, and attacks on memory and time. */
import { readFileSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { diffReports } from '../../cli/analysis/diff';
import { reportOn } from '../../cli/analysis/loaded';
import { stackTotals } from '../../cli/analysis/stacks';
import { fileHeader, PacketType, packet } from '../../cli/capture/format';
import { MAX_FRAMES } from '../../cli/capture/limits';
import { LiveTensors } from '../../cli/capture/live-tensors';
import { loadCapture } from '../../cli/capture/load';
import { check } from '../../cli/check/findings';
import { UsageError } from '../../cli/errors/errors';
import { renderCollapsed } from '../../cli/exporters/collapsed';
import { renderCsv } from '../../cli/exporters/csv';
import { renderPprof } from '../../cli/exporters/pprof';
import { renderSpeedscope } from '../../cli/exporters/speedscope';
import { pageData } from '../../cli/page/data';
import { renderDiff } from '../../cli/reporters/diff';
import { renderHtml } from '../../cli/reporters/html';
import { renderJson } from '../../cli/reporters/json';
import { renderJunit } from '../../cli/reporters/junit';
import { renderSarif } from '../../cli/reporters/sarif';
import { renderText } from '../../cli/reporters/text';
import { plainColors } from '../../cli/terminal/colors';
import { run } from '../support/child';
import { ordinaryEnv } from '../support/sanitized';
import { CaptureBuilder, leakyCapture } from './capture-builder';
import { CLI, ROOT, testFolder } from './command';
import { random as randomFrom } from './simulation';

// The command looks for it beside itself.
jest.mock('../../cli/files/version', () => ({ version: () => '1.0.0' }));

const folder = testFolder();
const file = (name: string) => path.join(folder, name);
const MiB = 2 ** 20;

interface Outcome {
  code: number | null;
  stdout: string;
  stderr: string;
  peak: number;
}

/** Runs the built command and measures its peak memory. */
async function leakAudit(...args: string[]): Promise<Outcome> {
  const peak = file('peak');
  const preload = path.join(ROOT, 'test/audit/fixtures/peak.cjs');
  const env = { ...ordinaryEnv(), LTN_PEAK_FILE: peak };
  const outcome = await run(process.execPath, ['-r', preload, CLI, ...args], { env });
  return { ...outcome, peak: Number(readFileSync(peak, 'utf8')) };
}

/** Does a command's work on a capture in this process. Any fault of the capture is reported as a UsageError. */
function useAll(capture: string): 'refused' | 'used' {
  try {
    const loaded = loadCapture(capture);
    const report = reportOn(loaded);
    const outcome = check(report, { maxAge: 1, maxLive: 1 }, '/');
    const stacks = stackTotals(loaded.capture);
    renderText(report, { colors: plainColors, folder: '/' });
    JSON.parse([renderJson(report)].flat().join(''));
    renderHtml(pageData(loaded.capture, report, { folder: '/' }), '/');
    renderJunit(report, outcome, '/');
    JSON.parse(renderSarif(report, outcome, '/', false));
    renderDiff(diffReports(report, report), { colors: plainColors, folder: '/' });
    renderCollapsed(stacks, 'live');
    renderCsv(report.sites);
    renderPprof(stacks, report.summary);
    JSON.parse(renderSpeedscope(stacks, report.summary));
    return 'used';
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    expect(error.message).toContain(capture);
    expect(error.message.split('\n')).toHaveLength(1);
    return 'refused';
  }
}

const WRONG = [null, true, -1, -1e300, 1e300, 0.5, 2 ** 53, 'x', '', [], [1], {}, { a: 1 }, 'y'.repeat(100_000)];
const FRAME = { file: '/a.js', line: 1, column: 1, function: 'f' };
const START = {
  ...{ pid: 42, startedAt: 1, clockMs: 1, mode: 'full', intervalMs: 250, sampleBytes: 0, depth: 16, maxBytes: 0 },
  ...{ command: 'node', memoryLimit: { bytes: 1e9, from: 'machine' }, attached: false },
};
const END = { reason: 'exit', ms: 1, lost: 0 };

function withJson(type: PacketType, head: Buffer, json: string): Buffer {
  const builder = leakyCapture(4);
  return builder
    .packet(type, Buffer.concat([head, Buffer.from(json)]))
    .tick({ ms: 5000 })
    .end()
    .build();
}

const u32s = (...numbers: number[]) => Buffer.from(Uint32Array.from(numbers).buffer);

/** Each field of each packet of JSON: its name, and the packet with another value in its place. */
const FIELDS: [string, (value: string) => Buffer][] = [
  ...Object.keys(START).map((name): [string, (value: string) => Buffer] => [
    `start.${name}`,
    (value) =>
      withJson(
        PacketType.Start,
        Buffer.alloc(0),
        JSON.stringify({ ...START, [name]: 0 }).replace(`"${name}":0`, `"${name}":${value}`),
      ),
  ]),
  ...Object.keys(END).map((name): [string, (value: string) => Buffer] => [
    `end.${name}`,
    (value) =>
      Buffer.concat([
        leakyCapture(4).build(),
        packet(PacketType.End, Buffer.from(JSON.stringify({ ...END, [name]: 'HERE' }).replace('"HERE"', value))),
      ]),
  ]),
  ...Object.keys(FRAME).map((name): [string, (value: string) => Buffer] => [
    `site[0].${name}`,
    (value) =>
      withJson(
        PacketType.Site,
        u32s(1, 0, 1),
        `[${JSON.stringify({ ...FRAME, [name]: 'HERE' }).replace('"HERE"', value)}]`,
      ),
  ]),
  ['site', (value) => withJson(PacketType.Site, u32s(1, 0, 1), value)],
  ['site[0]', (value) => withJson(PacketType.Site, u32s(1, 0, 1), `[${value}]`)],
  ['label', (value) => withJson(PacketType.Label, u32s(1), value)],
  ['label.route', (value) => withJson(PacketType.Label, u32s(1), `{"route":${value}}`)],
  ['process', (value) => withJson(PacketType.Process, Buffer.alloc(0), value)],
  ['start', (value) => withJson(PacketType.Start, Buffer.alloc(0), value)],
  ['end', (value) => withJson(PacketType.End, Buffer.alloc(0), value)],
];

test.each(FIELDS)('%s of any type is used or refused in one line', (_name, make) => {
  const told = [...WRONG.map((value) => JSON.stringify(value)), 'NaN', '', '{', '1e999', '"\\u001b]0;x\\u0007"'].map(
    (value) => {
      writeFileSync(file('field'), make(value));
      return useAll(file('field'));
    },
  );
  expect(told).toContain('refused');
});

test('errors name the file, the place, and what was expected and found', () => {
  writeFileSync(file('wrong'), withJson(PacketType.Site, u32s(1, 0, 1), JSON.stringify([{ ...FRAME, line: 'ten' }])));
  expect(() => loadCapture(file('wrong'))).toThrow(
    `${file('wrong')}: damaged (site[0].line: expected a whole number from 0 to 4294967296, got "ten")`,
  );
});

test.each(Object.entries(PacketType).filter(([, type]) => typeof type === 'number') as [string, number][])(
  'a packet of type %s of any length is used or refused',
  (_name, type) => {
    for (const fill of [0, 0x7f, 0xff])
      for (const length of [0, 1, 3, 4, 7, 8, 11, 12, 47, 48, 55, 56, 87, 88, 1000]) {
        const builder = leakyCapture(12).packet(type, Buffer.alloc(length, fill));
        writeFileSync(file('short'), builder.tick({ ms: 5000 }).build());
        useAll(file('short'));
      }
  },
);

test('counters of any size are used; impossible weights, times and devices are refused in one line', () => {
  const rows = (at: number, value: bigint) => {
    const payload = Buffer.alloc(56);
    payload.writeBigUInt64LE(value, at);
    return payload;
  };
  for (const value of [2n ** 64n - 1n, 2n ** 63n, 2n ** 53n])
    for (const at of [0, 8, 16, 24, 32, 40, 48]) {
      const builder = leakyCapture(20).packet(PacketType.Rows, rows(at, value));
      writeFileSync(file('giant'), builder.tick({ ms: 5250 }).tick({ ms: 5500 }).build());
      expect(useAll(file('giant'))).toBe('used');
    }
  for (const weight of [Number.NaN, Number.POSITIVE_INFINITY, -1, 1e30]) {
    writeFileSync(file('weight'), leakyCapture(4).births({ id: 1, site: 1, weight }).tick({ ms: 2000 }).build());
    expect(useAll(file('weight'))).toBe('refused');
  }
  writeFileSync(
    file('late'),
    leakyCapture(4)
      .tick({ ms: 2 ** 50 })
      .build(),
  );
  expect(useAll(file('late'))).toBe('refused');
});

test('randomly changed bytes with corrected checksums are used or refused in one line', () => {
  const random = randomFrom(20_240_607);
  const whole = new CaptureBuilder({ clockMs: 5 })
    .site(1, ['/a.js', 1, 2, 'f'], ['/b.js', 3, 4, 'g'])
    .label(1, { route: '/x' })
    .shape(1, [2, 3])
    .mark(10, 'deploy')
    .births({ id: 1, site: 1, shape: 1, label: 1, owner: 3 }, { id: 2, site: 1, isView: true, storage: 1 })
    .scopes([1, 77])
    .tick({ ms: 100 }, [{ site: 1, liveTensors: 2, liveBytes: 8, label: 1 }])
    .kept(1)
    .deaths(2)
    .environmentEnd(0)
    .tick({ ms: 200 }, [{ site: 1, liveTensors: 1, liveBytes: 4, label: 1 }]);
  whole.text(PacketType.Process, { pid: 43 }).text(PacketType.Start, START).tick({ ms: 150 }).end();
  const bytes = whole.build();
  const outcomes = { refused: 0, used: 0 };
  for (let round = 0; round < 600; round++) {
    const changed = Buffer.from(bytes);
    const parts = [fileHeader(0)];
    // Only payloads are changed: wrong checksums have their own tests.
    for (let at = 16; at < changed.length; ) {
      const length = changed.readUInt32LE(at + 4);
      const payload = changed.subarray(at + 20, at + 20 + length);
      if (random() < 0.2 && length > 0) {
        for (let k = 0; k < 1 + Math.floor(random() * 3); k++)
          payload[Math.floor(random() * length)] = Math.floor(random() * 256);
      }
      parts.push(packet(changed[at + 8]!, payload));
      at += 20 + length;
    }
    writeFileSync(file('fuzz'), Buffer.concat(parts));
    outcomes[useAll(file('fuzz'))]++;
  }
  expect(outcomes.refused).toBeGreaterThan(50);
  expect(outcomes.used).toBeGreaterThan(50);
});

/** Many packets in one payload each. */
const many = (count: number, of: (i: number) => Buffer) =>
  Buffer.concat(Array.from({ length: count }, (_, i) => of(i)));
const site = (id: number, json: string) => packet(PacketType.Site, Buffer.concat([u32s(id, 0, id), Buffer.from(json)]));

const FILLING: [string, () => Buffer, RegExp | undefined][] = [
  ['one stack of frames that hold nothing', () => site(1, `[${'{},'.repeat(1_300_000)}0]`), /site: expected at most/],
  ['stacks of numbers', () => many(12, (i) => site(i, `[${'0,'.repeat(2_000_000)}0]`)), /site: expected at most/],
  ['deep nesting', () => site(1, '['.repeat(4_000_000)), /site: expected JSON/],
  [
    '50 MB of short stacks',
    () => {
      const json = `[${Array.from({ length: MAX_FRAMES - 1 }, (_, i) => `{"file":"","line":${i % 9},"column":0}`).join(',')}]`;
      return many(6000, (i) => site(i, json));
    },
    undefined,
  ],
  ['stacks without a frame', () => many(300_000, (i) => site(i, '[]')), /expected at most 262,144 sites/],
  [
    'series of a row each',
    () => {
      const rows = Buffer.alloc(56 * 290_000);
      for (let i = 0; i < 290_000; i++) rows.writeUInt32LE(i, 56 * i);
      return Buffer.concat([packet(PacketType.Rows, rows), new CaptureBuilder().tick({ ms: 1 }).build().subarray(16)]);
    },
    /expected at most 262,144 series/,
  ],
  [
    'processes',
    () => many(60_000, () => packet(PacketType.Process, Buffer.from('{}'))),
    /expected at most 16,384 processes/,
  ],
  ['marks', () => many(150_000, () => packet(PacketType.Mark, Buffer.alloc(9))), /expected at most 131,072 marks/],
  [
    'opened scopes of many processes',
    () => {
      const scopes = many(140_000, (i) => u32s(1, i, 1));
      const openings = packet(PacketType.Openings, scopes);
      return many(12, () => Buffer.concat([packet(PacketType.Process, Buffer.from('{}')), openings]));
    },
    /expected at most 1,048,576 opened scopes/,
  ],
  ['shapes', () => many(300_000, (i) => packet(PacketType.Shape, u32s(i))), /expected at most 262,144 shapes/],
  [
    'sets of labels',
    () => many(300_000, (i) => packet(PacketType.Label, Buffer.concat([u32s(i), Buffer.from('{}')]))),
    /sets of labels/,
  ],
  [
    'one shape of a million sizes',
    () => packet(PacketType.Shape, Buffer.alloc(8_000_004)),
    /shape: expected at most 64 sizes/,
  ],
  [
    'a name of four million characters',
    () => site(1, JSON.stringify([{ ...FRAME, file: 'x'.repeat(4_000_000) }])),
    undefined,
  ],
];

test.each(FILLING)('%s: memory stays bounded', async (_name, make, told) => {
  const bytes = Buffer.concat([leakyCapture(24).build(), make(), leakyCapture(24).build().subarray(16)]);
  writeFileSync(file('filling'), bytes);
  const { code, stderr, peak } = await leakAudit('check', file('filling'));
  if (told === undefined) expect({ code, stderr }).toEqual({ code: expect.any(Number), stderr: '' });
  else {
    expect(stderr).toMatch(told);
    expect(stderr).toContain(`leak-audit: ${file('filling')}: damaged (`);
  }
  expect([0, 1, 2, 3, 4]).toContain(code);
  expect(code === 2).toBe(told !== undefined);
  expect(peak).toBeLessThan(500 * MiB);
});

test.each(['report', 'check', 'diff', 'export', 'live'])('%s prints one line and exits with 2', async (command) => {
  writeFileSync(file('good'), leakyCapture(24).build());
  writeFileSync(file('bad'), withJson(PacketType.Label, u32s(1), '{"route":7}'));
  const args = { diff: [file('good')], export: ['--csv', file('out.csv')], live: ['--duration', '1s'] }[command] ?? [];
  const { code, stdout, stderr } = await leakAudit(command, file('bad'), ...args);
  expect({ code, stdout, stderr }).toEqual({
    code: 2,
    stdout: '',
    stderr: `leak-audit: ${file('bad')}: damaged (label."route": expected a string, got 7)\n`,
  });
});

test('repair checks only checksums, in little memory', async () => {
  writeFileSync(file('big'), Buffer.concat([leakyCapture(24).build(), many(100_000, (i) => site(i, '[{},{},{},{}]'))]));
  const { code, peak } = await leakAudit('repair', file('big'), '-o', file('big.repaired'));
  expect(code).toBe(0);
  expect(peak).toBeLessThan(300 * MiB);
});

/** Ids that all map to one slot of the table if its hash is known, so that each search passes all others. */
function collidingIds(count: number): Uint32Array {
  const inverse = (odd: number) => {
    let x = odd;
    for (let i = 0; i < 5; i++) x = Math.imul(x, 2 - Math.imul(odd, x));
    return x;
  };
  const unshift = (value: number, by: number) => {
    let x = value;
    for (let i = by; i < 32; i += by) x = value ^ (x >>> by);
    return x;
  };
  const [first, second] = [inverse(0x9e3779b1), inverse(0x85ebca6b)];
  const ids = new Uint32Array(count);
  for (let high = 0, n = 0; n < count; high++) {
    let x = unshift((high << 14) | 0, 13);
    x = unshift(Math.imul(x, second), 15);
    x = Math.imul(x, first) >>> 0;
    if (x >= 2 ** 28) continue;
    for (let low = 0; low < 16 && n < count; low++) ids[n++] = ((x << 4) | low) >>> 0;
  }
  return ids;
}

test('ids that are chosen to collide do not cost more than others', () => {
  // 32 billion steps with a known hash: the test would time out.
  const ids = collidingIds(250_000);
  const live = new LiveTensors();
  const payload = Buffer.alloc(48);
  for (const id of ids) {
    payload.writeUInt32LE(id, 0);
    live.add(payload, 0);
  }
  expect(live.size).toBe(ids.length);
  for (const id of ids) live.delete(id);
  expect(live.size).toBe(0);
}, 60_000);

test('ended threads are not scanned for each site, nor processes for each round', async () => {
  const threads = many(60_000, (i) => packet(PacketType.EnvironmentEnd, u32s(i, 0, 0)));
  const sites = many(30_000, (i) => site(i, `[{"file":"/a.js","line":${i},"column":1,"function":""}]`));
  const rows = Array.from({ length: 30_000 }, (_, i) => ({ site: i, liveTensors: 1, liveBytes: 4 }));
  const capture = new CaptureBuilder().tick({ ms: 1 }, rows);
  writeFileSync(file('threads'), Buffer.concat([capture.build(), sites, threads]));
  const before = leakyCapture(2000).build();
  const start = packet(PacketType.Start, Buffer.from(JSON.stringify(START)));
  const one = new CaptureBuilder().tick({ ms: 1 }).build();
  const tick = one.subarray(one.indexOf('LTNP', 40));
  const child = Buffer.concat([packet(PacketType.Process, Buffer.from('{}')), start, tick]);
  writeFileSync(file('family'), Buffer.concat([before, many(16_000, () => child)]));
  for (const name of ['threads', 'family']) {
    const { code, peak } = await leakAudit('check', file(name));
    expect({ name, code }).toEqual({ name, code: expect.any(Number) });
    expect([0, 1, 3, 4]).toContain(code);
    expect(peak).toBeLessThan(500 * MiB);
  }
});
