/** `leak-audit export`: each format is read back by an independent parser. */
import { readFileSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { gunzipSync } from 'node:zlib';
import Ajv from 'ajv';
import { Profile } from 'pprof-format';
import { run } from '../support/child';
import { leakAudit, ROOT, testFolder } from './command';
import { serviceCapture } from './service-capture';

const folder = testFolder();
const file = (name: string) => path.join(folder, name);
const ROUNDS = 96;
const CLASSIFY = ROUNDS * (65_536 + 32_768);

async function exported(format: string, ...options: string[]): Promise<Buffer> {
  const out = file(`out.${format}`);
  expect(await leakAudit(['export', file('app.ltna'), `--${format}`, out, ...options])).toMatchObject({
    code: 0,
    stderr: '',
  });
  return readFileSync(out);
}

beforeAll(() => writeFileSync(file('app.ltna'), serviceCapture(ROUNDS).build()));

describe('pprof', () => {
  test('is a valid profile: every id refers to an existing entry', async () => {
    const profile = Profile.decode(gunzipSync(await exported('pprof')));
    const { strings } = profile.stringTable;
    expect(strings[0]).toBe('');
    expect(profile.sampleType.map(({ type, unit }) => `${strings[Number(type)]}/${strings[Number(unit)]}`)).toEqual([
      'alloc_objects/count',
      'alloc_space/bytes',
      'growth_objects/count',
      'growth_space/bytes',
      'inuse_objects/count',
      'inuse_space/bytes',
    ]);
    expect(strings[Number(profile.defaultSampleType)]).toBe('inuse_space');
    expect(BigInt(profile.timeNanos)).toBe(1_700_000_000_000_000_000n);
    expect(BigInt(profile.durationNanos)).toBe(BigInt(ROUNDS * 250) * 1_000_000n);
    const locations = new Map(profile.location.map((location) => [Number(location.id), location]));
    const functions = new Map(profile.function.map((one) => [Number(one.id), one]));
    expect([locations.has(0), functions.has(0)]).toEqual([false, false]);
    expect([locations.size, functions.size]).toEqual([profile.location.length, profile.function.length]);
    const stacks = profile.sample.map((sample) => ({
      values: sample.value.map(Number),
      frames: sample.locationId.map((id) => {
        const line = locations.get(Number(id))!.line[0]!;
        const { name, filename } = functions.get(Number(line.functionId))!;
        return `${strings[Number(name)]} ${strings[Number(filename)]}:${line.line}`;
      }),
    }));
    expect(stacks).toHaveLength(5);
    expect(stacks.find(({ frames }) => frames[1]!.startsWith('postImage /srv/shop/src/routes.ts:7'))).toEqual({
      values: [40 * 96, 96 * 1_310_720, 2 * 71, 71 * 65_536, 2 * 96, 96 * 65_536],
      frames: [
        'classify /srv/shop/src/classify.ts:42',
        'postImage /srv/shop/src/routes.ts:7',
        'main /srv/shop/src/main.ts:12',
      ],
    });
  });

  test('a decrease is a negative number', async () => {
    const profile = Profile.decode(gunzipSync(await exported('pprof')));
    // 4 + 96 % 12 = 4 at the end; after the 25th of 96 rounds there were 5.
    expect(profile.sample.map((sample) => BigInt.asIntN(64, BigInt(sample.value[3]!)))).toContain(-131_072n);
  });
});

test('speedscope: valid by its published schema, with a profile for each value', async () => {
  const text = (await exported('speedscope')).toString();
  const schema = require.resolve('speedscope/dist/release/file-format-schema.json');
  const validate = new Ajv({ strict: false }).compile(JSON.parse(readFileSync(schema, 'utf8')));
  const profile = JSON.parse(text);
  expect({ valid: validate(profile), errors: validate.errors }).toEqual({ valid: true, errors: null });
  expect(validate({ ...profile, profiles: [{ ...profile.profiles[0], unit: 'bits' }] })).toBe(false);
  const names = profile.shared.frames.map((frame: { name: string }) => frame.name);
  expect(profile.profiles.map((one: { name: string }) => one.name)).toEqual([
    'live bytes',
    'allocated bytes',
    'growth in bytes',
  ]);
  for (const { samples, weights, endValue } of profile.profiles) {
    expect(samples).toHaveLength(weights.length);
    expect(weights.reduce((a: number, b: number) => a + b, 0)).toBe(endValue);
    for (const stack of samples) expect(names[stack[0]]).toBe('main'); // outermost first
  }
  expect(profile.profiles[0].endValue).toBe(CLASSIFY + 24 * 98_304 + 3_000_000 + 4 * 131_072);
});

test('collapsed: one stack and one integer per line', async () => {
  const live = (await exported('collapsed')).toString();
  const stacks = live
    .trimEnd()
    .split('\n')
    .map((line) => {
      const match = /^([^;]+(?:;[^;]+)*) (\d+)$/.exec(line)!;
      return { frames: match[1]!.split(';'), bytes: Number(match[2]) };
    });
  expect(stacks).toHaveLength(5);
  expect(stacks.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(CLASSIFY + 24 * 98_304 + 3_000_000 + 4 * 131_072);
  expect(stacks.map(({ frames }) => frames[0])).toEqual(new Array(5).fill('main (/srv/shop/src/main.ts:12:3)'));
  expect(live).toContain('step now'); // a semicolon in a name is not a separator
  const growth = (await exported('collapsed', '--value', 'growth')).toString();
  expect(growth.trimEnd().split('\n')).toHaveLength(2);
});

test("CSV: Python's parser reads every site, quotes and commas too", async () => {
  await exported('csv');
  const script =
    'import csv,json,sys; print(json.dumps(list(csv.DictReader(open(sys.argv[1], newline=""), strict=True))))';
  const { code, stdout } = await run('/usr/bin/python3', ['-c', script, file('out.csv')]);
  expect(code).toBe(0);
  const rows = JSON.parse(stdout) as Record<string, string>[];
  expect(rows).toHaveLength(4);
  expect(rows[0]).toMatchObject({
    verdict: 'leak',
    file: '/srv/shop/src/classify.ts',
    line: '42',
    function: 'classify',
    liveBytes: String(CLASSIFY),
  });
  expect(rows.map((row) => row.file)).toContain('/srv/shop/src/train, "fast".ts');
  for (const row of rows) expect(Object.keys(row)).not.toContain('null'); // without extra cells
});

test('several formats at once, one of them to stdout; sources can be left out of each', async () => {
  const outputs = { pprof: file('r.pb.gz'), speedscope: file('r.json'), csv: file('r.csv') };
  const options = Object.entries(outputs).flatMap(([format, out]) => [`--${format}`, out]);
  const { code, stdout } = await leakAudit([
    'export',
    file('app.ltna'),
    '--redact-sources',
    '--collapsed',
    '-',
    ...options,
  ]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^function-\d+ \(file-\d+:12:3\);.* \d+$/m);
  const texts = [stdout, readFileSync(outputs.speedscope, 'utf8'), readFileSync(outputs.csv, 'utf8')];
  texts.push(gunzipSync(readFileSync(outputs.pprof)).toString('latin1'));
  for (const text of texts) {
    expect(text).toMatch(/file-1/);
    expect(text).not.toMatch(/srv|shop|classify|routes|postImage|step|\.[jt]s\b|node /);
  }
});

test('wrong options are reported in one line', async () => {
  const cases: [string[], RegExp][] = [
    [[], /no format given/],
    [['--csv', file('x'), '--collapsed', file('x')], /are both .*: expected different files/],
    [['--csv', path.join(ROOT, 'no-such-folder/x.csv')], /is not a writable folder/],
    [['--collapsed', '-', '--value', 'heat'], /Allowed choices are live, allocated, growth/],
  ];
  for (const [options, message] of cases) {
    const { code, stdout, stderr } = await leakAudit(['export', file('app.ltna'), ...options]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
  }
});
