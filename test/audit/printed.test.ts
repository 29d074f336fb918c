/** Terminal output: names of programs, files and arguments cannot control the terminal, whatever they contain. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Screen } from '../../cli/live/screen';
import { forTerminal, jsonText, printable } from '../../cli/terminal/printable';
import { Progress } from '../../cli/terminal/progress';
import { run } from '../support/child';
import { ordinaryEnv } from '../support/sanitized';
import { CaptureBuilder } from './capture-builder';
import { leakAudit, ROOT, testFolder } from './command';

const folder = testFolder();
const file = (name: string) => path.join(folder, name);

/** A title for the window, a cleared screen, a bell, a line over the line, a line of its own, C1, and what turns text around. */
const HOSTILE =
  'a\x1b]0;owned\x07b\x1b[2J\x1b[1mc\x07\r\bd\nCLEAN\x9b2J\x85\x7f\u202ee\u2066\u200b\u2028\u061c\u{e0001}f';

/** Checks that lines contain only text. */
const RAW = /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/gu;
/** The same for CSV, whose lines end with \r\n. */
const RAW_CSV = /[^\P{Cc}\n\r]|[\p{Cf}\p{Zl}\p{Zp}]|\r(?!\n)/gu;
const ESC = '\x1b';
const COLORS = new RegExp(`${ESC}\\[(?:[12]|22|3[1236]|39)m`, 'g');

function hostile(rounds: number, extra: object = {}): CaptureBuilder {
  const builder = new CaptureBuilder({ command: `node ${HOSTILE}`, ...extra })
    .site(1, [`/srv/${HOSTILE}.js`, 10, 5, HOSTILE], [`/srv/${HOSTILE}.js`, 30, 1, `main ${HOSTILE}`])
    .site(2, [HOSTILE, 0, 0, HOSTILE])
    .label(1, { [HOSTILE]: `/${HOSTILE}`, route: `/${HOSTILE}` })
    .mark(300, HOSTILE);
  for (let i = 1; i <= rounds; i++)
    builder.tick({ ms: i * 250 }, [
      { site: 1, liveTensors: i, liveBytes: i * 1024, oldestBirthMs: 100, label: 1 },
      { site: 2, liveTensors: 1, liveBytes: 4096 },
    ]);
  return builder.end(HOSTILE);
}

const bad = file(`c${HOSTILE.replaceAll('/', '')}.ltna`);

beforeAll(() => {
  writeFileSync(file('c.ltna'), hostile(48).build());
  writeFileSync(file('short.ltna'), hostile(12).build());
  writeFileSync(bad, hostile(48).build());
  writeFileSync(file('json'), JSON.stringify({ version: 1, suppressions: [{ file: `x${HOSTILE}`, reason: HOSTILE }] }));
  writeFileSync(file('baseline'), JSON.stringify({ version: 1, [HOSTILE]: 1 }));
});

const COMMANDS: [string, ...string[]][] = [
  ['report', file('c.ltna')],
  ['report', file('short.ltna')],
  ['report', file('c.ltna'), '--json', '-'],
  ['report', file('c.ltna'), '--html', '-'],
  ['report', file('c.ltna'), '--by', 'route'],
  ['report', file('c.ltna'), '--by', HOSTILE],
  ['report', file('c.ltna'), '--by', `no ${HOSTILE}`],
  ['report', file('c.ltna'), '--device', HOSTILE],
  ['report', bad, '--html', HOSTILE + path.join('/', 'x')],
  ['report', `missing ${HOSTILE}`],
  ['report', file('c.ltna'), '--min-age', HOSTILE],
  ['report', file('c.ltna'), `--${HOSTILE}`],
  ['check', file('c.ltna'), '--max-age', '1ms', '--suppressions', file('json')],
  ['check', file('c.ltna'), '--baseline', file('baseline')],
  ['check', file('short.ltna')],
  ['check', file('c.ltna'), '--junit', '-'],
  ['check', file('c.ltna'), '--sarif', '-'],
  ['check', file('c.ltna'), '--write-baseline', '-'],
  ['diff', file('short.ltna'), file('c.ltna')],
  ['diff', file('short.ltna'), file('c.ltna'), '--json', '-'],
  ['diff', bad, bad, '--json', bad],
  ['export', file('c.ltna'), '--collapsed', '-'],
  ['export', file('c.ltna'), '--speedscope', '-'],
  ['export', file('c.ltna'), '--csv', '-'],
  ['repair', bad, '-o', `${bad}2`],
  ['repair', `missing ${HOSTILE}`],
  ['live', bad, '--duration', '1ms'],
  ['live', HOSTILE],
  ['attach', HOSTILE],
  ['detach', HOSTILE],
  ['snapshot', HOSTILE],
  ['mark', '1', HOSTILE],
  ['completion', HOSTILE],
  ['run', '--', `/no/${HOSTILE}`],
  ['run', '-o', `${file('none')}/${HOSTILE}/x`, '--', 'node'],
  [HOSTILE],
];

test.each(COMMANDS.map((args) => ({ name: args.map(printable).join(' ').replaceAll(folder, '').slice(0, 60), args })))(
  '$name',
  async ({ args }) => {
    const raw = args.includes('--csv') ? RAW_CSV : RAW;
    const plain = await leakAudit(args, { NO_COLOR: '1' });
    expect(plain.stdout.match(raw) ?? []).toEqual([]);
    expect(plain.stderr.match(RAW) ?? []).toEqual([]);
    expect(`${plain.stdout}${plain.stderr}`).not.toMatch(/^CLEAN/m);
    const painted = await leakAudit(args, { FORCE_COLOR: '1', NO_COLOR: '' });
    expect(painted.stdout.replace(COLORS, '').match(raw) ?? []).toEqual([]);
    expect(painted.stderr.replace(COLORS, '').match(RAW) ?? []).toEqual([]);
    for (const { code } of [plain, painted]) expect([0, 1, 2, 3, 4]).toContain(code);
  },
);

test('libtorch-node build: a libtorch, a cache and a compiler with control sequences in their names', async () => {
  const name = HOSTILE.replace('\n', ''); // a line break in a path is one in the message
  const cli = path.join(ROOT, 'dist/cli/libtorch-node.js');
  for (const env of [{ LIBTORCH: `/no/${name}` }, { LIBTORCH_NODE_CACHE: `/proc/${name}` }, { CXX: `/no/${name}` }]) {
    const { code, stdout, stderr } = await run(process.execPath, [cli, 'build', '--force'], {
      env: { ...ordinaryEnv(), ...env },
    });
    expect({ env, code }).toEqual({ env, code: 1 });
    expect(stdout.match(RAW) ?? []).toEqual([]);
    expect(stderr.match(RAW) ?? []).toEqual([]);
    expect(stderr).toContain(String.raw`a\u001b]0;owned\u0007b`);
  }
});

test('the scripts escape as the command does', async () => {
  const script = path.join(ROOT, 'scripts/steps/printable.mjs');
  const program = `import(process.argv[1]).then(({ printable }) => process.stdout.write(printable(process.argv[2])))`;
  const { stdout } = await run(process.execPath, ['-e', program, script, HOSTILE]);
  expect(stdout).toBe(forTerminal(HOSTILE.replace('\x1b[1m', ''), false));
});

test('machine-readable output has the names unchanged', async () => {
  const outputs = { json: file('o.json'), speedscope: file('o.speedscope'), pprof: file('o.pb.gz') };
  await leakAudit(['report', file('c.ltna'), '--json', outputs.json]);
  await leakAudit(['export', file('c.ltna'), '--speedscope', outputs.speedscope, '--pprof', outputs.pprof]);
  const { sites, marks } = JSON.parse(readFileSync(outputs.json, 'utf8'));
  expect(sites[0]).toMatchObject({ file: `/srv/${HOSTILE}.js`, function: HOSTILE });
  expect(marks[0].name).toBe(HOSTILE);
  const { shared } = JSON.parse(readFileSync(outputs.speedscope, 'utf8'));
  expect(shared.frames.map(({ name }: { name: string }) => name)).toContain(HOSTILE);
  expect(gunzipSync(readFileSync(outputs.pprof)).includes(HOSTILE)).toBe(true);
});

test('only line ends, and colours if enabled, are printed unescaped', () => {
  const text = `a\n\x1b[31mb\x1b[39m\x1b[5mc\x1b]8;;x\x07\r\n${HOSTILE}`;
  expect(forTerminal(text, true)).toContain('a\n\x1b[31mb\x1b[39m\\u001b[5mc\\u001b]8;;x\\u0007\r\n');
  expect(forTerminal(text, false)).toMatch(/^a\n\\u001b\[31mb/);
  expect(printable('é日本🙂 ok')).toBe('é日本🙂 ok');
  expect(JSON.parse(jsonText({ HOSTILE, text }))).toEqual({ HOSTILE, text });
  expect(jsonText(HOSTILE).match(RAW)).toBeNull();
});

test('progress and the full-screen view', () => {
  const written: string[] = [];
  let now = 0;
  const progress = new Progress({ isTTY: true, columns: 200, write: (text) => written.push(text) }, () => now);
  progress.stage(HOSTILE);
  now = 5000;
  progress.stage(HOSTILE);
  expect(written.join('').replaceAll('\r', '').match(RAW)).toBeNull();
  expect(written.join('')).toContain('owned');

  const write = jest.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  try {
    written.length = 0;
    const screen = new Screen(
      () => {},
      () => {},
    );
    screen.show(['one', HOSTILE]);
    const own = new RegExp(`${ESC}\\[(?:H|K|J|\\?1049h|\\?25l)|\r\n`, 'g');
    expect(written.join('').replace(own, '').match(RAW)).toBeNull();
    expect(written.join('').match(/\r\n/g)).toHaveLength(1);
    process.off('exit', process.listeners('exit').at(-1)!);
    process.stdout.removeAllListeners('resize');
  } finally {
    write.mockRestore();
  }
});

test('only the writers write to the output', () => {
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', 'cli/*.ts'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  const writes = /process\s*\.\s*std(?:out|err)\s*\.\s*write|\bstd(?:out|err)\.write\(|console\.|\bwriteSync\(process/;
  const found = files
    .trim()
    .split('\n')
    .filter((name) => !name.startsWith('cli/page/browser'))
    .filter((name) => writes.test(readFileSync(path.join(ROOT, name), 'utf8')));
  expect(found).toEqual(['cli/terminal/writers.ts']);
});
