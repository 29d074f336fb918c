/** `live`, `run` and `snapshot` never exceed the width of the terminal. */
import * as path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { LiveState } from '../../cli/live/state';
import { History, renderView, type ViewOptions } from '../../cli/live/view';
import { LiveLines } from '../../cli/reporters/live';
import { plainColors } from '../../cli/terminal/colors';
import { cutBegin, cutEnd, displayWidth, nearName, terminalSize } from '../../cli/terminal/size';
import { run } from '../support/child';
import { limitMs, ordinaryEnv } from '../support/sanitized';
import { Service } from '../support/service';
import { CLI } from './command';

jest.setTimeout(limitMs(240_000));

test('the size of a terminal: its own, else that of the environment, else the default', () => {
  expect(terminalSize({ columns: 120, rows: 50 }, { COLUMNS: '60', LINES: '10' })).toEqual({ columns: 120, rows: 50 });
  expect(terminalSize({ columns: 0, rows: 0 }, { COLUMNS: '60', LINES: '10' })).toEqual({ columns: 60, rows: 10 });
  for (const bad of ['', '0', '-5', 'wide', '7.5'])
    expect(terminalSize({ columns: 0, rows: 0 }, { COLUMNS: bad, LINES: bad })).toEqual({ columns: 80, rows: 24 });
  expect(terminalSize({}, {})).toEqual({ columns: 80, rows: 24 });
});

test('text widths are those of a terminal', () => {
  expect(['abc', '模型.ts', 'é', 'e\u0301', '\x1b[1mbold\x1b[22m', '🔥'].map(displayWidth)).toEqual([3, 7, 1, 1, 4, 2]);
  expect(cutEnd('src/模型/訓練.ts', 9)).toBe('src/模型…');
  expect(cutEnd('src/模型/訓練.ts', 8)).toBe('src/模…');
  expect(cutBegin('src/模型/訓練.ts', 9)).toBe('…/訓練.ts');
  expect(cutEnd('short', 5)).toBe('short');
  expect(nearName(path.join(process.cwd(), 'a', 'b'))).toBe(path.join('a', 'b'));
  expect(nearName('/elsewhere/b')).toBe('/elsewhere/b');
});

const HUGE = {
  ms: 400 * 3_600_000,
  tensors: 1_234_567_890,
  storages: 1_234_567_890,
  bytes: 1023.9 * 2 ** 40,
  allocatedBytes: 2 ** 50 * 1023.9,
  rss: 1023.9 * 2 ** 40,
};
const SMALL = { ms: 1000, tensors: 1, storages: 1, bytes: 1, allocatedBytes: 1, rss: 1 };

test.each([20, 40, 60, 80, 81, 100, 200])('lines of %d columns', (columns) => {
  const lines: string[] = [];
  const live = new LiveLines(
    (line) => lines.push(...line.trimEnd().split('\n')),
    plainColors,
    () => columns,
  );
  for (let i = 0; i < 20; i++) live.show({ ...SMALL, ms: 1000 * i, bytes: i });
  live.show(HUGE);
  live.show({ ...SMALL, processes: 3, unread: 2 });
  live.show({ ...HUGE, processes: 1234 });
  expect(lines.filter((line) => line.length > columns)).toEqual([]);
  expect(lines.length).toBeGreaterThan(23);
  expect(lines.some((line) => line.includes('3 of 5'))).toBe(true);
  if (columns < 80) return;
  expect(lines[0]).toMatch(/^ +time +tensors +storages +live +libtorch +not in JS +rss$/);
  expect(lines[19]).toMatch(columns >= 100 ? / [▁-█]{16}$/ : / [▁-█]{6,7}$/);
  expect(lines.some((line) => line.includes('1,234,567,890 '))).toBe(true);
});

test('the headings are repeated when the size changes or a child appears', () => {
  const lines: string[] = [];
  let columns = 80;
  const live = new LiveLines(
    (line) => lines.push(line.trimEnd()),
    plainColors,
    () => columns,
  );
  live.show(SMALL);
  columns = 50;
  live.show(SMALL);
  live.show({ ...SMALL, processes: 2 });
  live.show({ ...SMALL, processes: 1 });
  const titles = lines.filter((line) => line.includes('time'));
  expect(titles.map((line) => [line.includes('storages'), line.endsWith('procs')])).toEqual([
    [true, false],
    [false, false],
    [false, true],
  ]);
  expect(lines.at(-1)).toMatch(/ 1$/);
});

test.each([
  [80, 24],
  [40, 10],
  [20, 3],
  [1, 1],
])('the view in %d columns and %d rows', (columns, rows) => {
  const site = (n: number, file: string) => ({
    ...{ file, line: n, column: 7, function: '処理する\x1b[2J' },
    ...{ liveTensors: 1e9, liveBytes: 2 ** 49, allocatedTensors: 1e12 * n, allocatedBytes: 2 ** 52 * n },
  });
  const stateAt = (n: number): LiveState => ({
    ...HUGE,
    ms: n * 1000,
    devices: Array.from({ length: 9 }, (_, i) => ({ device: `cuda:${i}`, tensors: 1e9, bytes: 2 ** 49 })),
    sites: [site(n, `/srv/${'deep/'.repeat(40)}a.ts`), site(n, `/srv/${'模型/'.repeat(40)}b.ts`)],
    made: { tensors: 1e12 * n, bytes: 2 ** 58 * n },
    ...{ mode: 'full', complete: true, processes: 12, unread: 3 },
  });
  const options: ViewOptions = {
    ...{ title: `/srv/${'capture/'.repeat(20)}`, columns, rows, colors: plainColors, folder: '/x' },
    ...{ sort: 'rate', paused: false, ended: 'the recording has ended (exit)' },
  };
  const history = new History();
  for (const lines of [renderView(history, options)]) expect(lines.length).toBeLessThanOrEqual(rows);
  for (let i = 1; i < 30; i++) history.add(stateAt(i));
  const lines = renderView(history, options);
  expect(lines.filter((line) => displayWidth(line) > columns)).toEqual([]);
  expect(lines.length).toBeLessThanOrEqual(rows);
  expect(lines.join('\n')).not.toContain('\x1b');
});

/** Runs `live` in a terminal of unknown size until the key q. */
async function unsized(pid: number, env: NodeJS.ProcessEnv): Promise<string[][]> {
  const script = `
import os, pty, sys
pid, fd = pty.fork()
if pid == 0: os.execv(sys.argv[1], sys.argv[1:])
out = b''
asked = False
try:
    while True:
        part = os.read(fd, 65536)
        if not part: break
        out += part
        if b'tensors' in out and not asked:
            asked = True
            os.write(fd, b'q')
except OSError:
    pass
os.waitpid(pid, 0)
sys.stdout.buffer.write(out)`;
  const { COLUMNS, LINES, FORCE_COLOR, ...ordinary } = ordinaryEnv();
  const args = ['-c', script, process.execPath, CLI, 'live', String(pid), '--interval', '50ms'];
  const { stdout } = await run('/usr/bin/python3', args, { env: { ...ordinary, TERM: 'xterm', ...env } });
  return stdout
    .split('\x1b[H')
    .slice(1)
    .map((picture) => stripVTControlCharacters(picture).split(/\r*\n/));
}

test('a terminal of 0 by 0 gets its size from the environment, else 80 by 24', async () => {
  const service = await Service.start();
  await service.tell('hold 2');
  for (const [env, columns, rows] of [
    [{ COLUMNS: '33', LINES: '7' }, 33, 7],
    [{}, 80, 24],
  ] as const) {
    const pictures = await unsized(service.pid, env);
    expect(pictures.length).toBeGreaterThan(0);
    for (const lines of pictures) {
      expect(lines.length).toBeLessThanOrEqual(rows);
      expect(lines.filter((line) => line.length > columns)).toEqual([]);
    }
    expect(pictures.flat().join('\n')).toMatch(/tensors/);
    expect(pictures.flat().some((line) => line.includes('q quit'))).toBe(rows === 24);
  }
});
