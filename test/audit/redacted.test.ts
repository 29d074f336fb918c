/** `--redact-sources`: reports do not contain the program's texts. Also cells that a spreadsheet would evaluate. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { SiteReport } from '../../cli/analysis/report';
import { renderCsv } from '../../cli/exporters/csv';
import { CaptureBuilder } from './capture-builder';
import { leakAudit, testFolder } from './command';

const folder = testFolder();
const file = (name: string) => path.join(folder, name);
const SECRET = /secret/i;

function secrets(rounds = 48): Buffer {
  const builder = new CaptureBuilder({ command: 'node secret.js --token=secret' })
    .site(1, ['/srv/secret/app.ts', 10, 5, 'secretFn'], ['/srv/secret/main.ts', 30, 1, 'secretMain'])
    .site(2, ['/secret/no-line.js', 0, 0, 'secretFrame'])
    .site(3, ['(before attach)', 0, 0])
    .site(4, ['(before attach)', 0, 0, 'secretOwn'])
    .label(1, { route: '/secret/route', secretName: 'secretValue' })
    .mark(300, 'secret deployment');
  for (let i = 1; i <= rounds; i++)
    builder.tick(
      { ms: i * 250 },
      [1, 2, 3, 4].map((site) => ({
        ...{ site, liveTensors: i, liveBytes: i * 1024, oldestBirthMs: 100, label: site === 1 ? 1 : 0 },
      })),
    );
  return builder.end('secret end').build();
}

beforeAll(() => {
  writeFileSync(file('a.ltna'), secrets(40));
  writeFileSync(file('b.ltna'), secrets());
  const suppressions = [{ file: '/srv/secret/*', reason: 'bounded' }];
  writeFileSync(file('suppressed.json'), JSON.stringify({ version: 1, suppressions }));
});

const out = file('out');
const COMMANDS: string[][] = [
  ['report', file('b.ltna'), '--by', 'route'],
  ['report', file('b.ltna'), '--by', 'nothing'],
  ['report', file('b.ltna'), '--json', '-'],
  ['report', file('b.ltna'), '--json', out],
  ['report', file('b.ltna'), '--html', out],
  ['diff', file('a.ltna'), file('b.ltna')],
  ['diff', file('a.ltna'), file('b.ltna'), '--json', out],
  ...['--pprof', '--speedscope', '--collapsed', '--csv'].map((format) => ['export', file('b.ltna'), format, out]),
  ['check', file('b.ltna'), '--max-age', '1ms'],
  ['check', file('b.ltna'), '--junit', out],
  ['check', file('b.ltna'), '--sarif', out, '--max-live', '1'],
  ['check', file('b.ltna'), '--suppressions', file('suppressed.json'), '--junit', out],
];

test.each(COMMANDS.map((args) => ({ name: args.join(' ').replaceAll(folder, ''), args })))(
  '$name',
  async ({ args }) => {
    writeFileSync(out, '');
    const shown = await leakAudit([...args, '--redact-sources']);
    const bytes = readFileSync(out);
    const text = args.includes('--pprof') ? gunzipSync(bytes).toString('latin1') : bytes.toString();
    expect(`${shown.stdout}${shown.stderr}${text}`).not.toMatch(SECRET);
    expect([0, 1, 2]).toContain(shown.code);
    const plain = await leakAudit(args);
    const plainBytes = readFileSync(out);
    const plainText = args.includes('--pprof') ? gunzipSync(plainBytes).toString('latin1') : plainBytes.toString();
    expect(`${plain.stdout}${plain.stderr}${plainText}`).toMatch(SECRET);
  },
);

test('fixed words stay, and equal values have the same number everywhere', async () => {
  const { stdout } = await leakAudit(['report', file('b.ltna'), '--by', 'route', '--redact-sources']);
  expect(stdout).toMatch(/ \(before attach\)$/m);
  expect(stdout).toMatch(/ label-1$/m);
  expect(stdout).toMatch(/ value-1$/m);
  expect(stdout).toMatch(/file-\d:10:5 function-\d/);
});

test('baselines and suppressions still match sites by name', async () => {
  const args = ['check', file('b.ltna'), '--redact-sources'];
  const { stdout } = await leakAudit([...args, '--suppressions', file('suppressed.json')]);
  expect(stdout).toMatch(/suppressed: file-\d:10:5 grows by .*: bounded/);
});

test('a baseline, which contains names, is not written with redaction', async () => {
  for (const to of [file('baseline.json'), '-']) {
    const args = ['check', file('b.ltna'), '--redact-sources', '--write-baseline', to];
    expect(await leakAudit(args)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^leak-audit: --write-baseline and --redact-sources cannot be combined: .* names/),
    });
  }
  expect(existsSync(file('baseline.json'))).toBe(false);
});

const NUMBERS = {
  ...{ column: 1, liveTensors: 1, liveBytes: 1, allocatedTensors: 1, allocatedBytes: 1 },
  ...{ growthBytesPerMinute: 0, growthTensorsPerMinute: 0, oldestMs: null },
};

test('formulas do not start inside a CSV cell if the separator is a semicolon or a tab', () => {
  const names = ['a;=cmd()', 'a; \t+1', 'a;"-2', 'a\t@SUM(1)', 'a;;＝1', 'a;b', 'a;b=1'];
  const sites = names.map((name) => ({ verdict: 'steady', file: name, function: '', devices: [], line: 7 }));
  const rows = renderCsv(sites.map((site) => ({ ...NUMBERS, ...site })) as unknown as SiteReport[])
    .trim()
    .split('\r\n')
    .slice(1);
  expect(rows.map((row) => /^steady,(.*?),7,/.exec(row)![1])).toEqual([
    '"a;\'=cmd()"',
    '"a;\' \\u0009\'+1"',
    '"a;\'""-2"',
    "a\\u0009'@SUM(1)",
    '"a;;\'＝1"',
    '"a;b"',
    '"a;b=1"',
  ]);
});

test('CSV cells that a spreadsheet would evaluate are texts; numbers stay numbers, also negative ones', async () => {
  const names = ['=cmd()', '+1', '-2+3', '@SUM(1)', '\t=1', '\r=1', '＝1', "'ok", 'ok=1'];
  const builder = new CaptureBuilder();
  for (const [i, name] of names.entries()) builder.site(i + 1, [name, i + 1, 1, name]);
  for (let t = 1; t <= 40; t++)
    builder.tick(
      { ms: t * 250 },
      names.map((_, i) => ({ site: i + 1, liveTensors: 41 - t, liveBytes: 1e6 * (41 - t), oldestBirthMs: 5 })),
    );
  writeFileSync(file('csv.ltna'), builder.end().build());
  const { stdout } = await leakAudit(['export', file('csv.ltna'), '--csv', '-']);
  const rows = stdout.trim().split('\r\n').slice(1);
  expect(rows).toHaveLength(names.length);
  const cells = rows.map((row) => row.split(','));
  const shown = cells.sort((a, b) => Number(a[2]) - Number(b[2])).map((row) => [row[1], row[4]]);
  const texts = ["'=cmd()", "'+1", "'-2+3", "'@SUM(1)", "'\\u0009=1", "'\\u000d=1", "'＝1", "'ok", 'ok=1'];
  expect(shown).toEqual(texts.map((text) => [text, text]));
  for (const row of cells) for (const number of row.slice(6, 13)) expect(number).toMatch(/^-?[\d.]*$/);
});
