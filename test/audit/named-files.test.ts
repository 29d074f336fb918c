/** Files named in captures: reading a capture neither waits for such a file nor fills memory with it, whatever it is. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { SourceMaps } from '../../cli/code/source-maps';
import { original } from '../../lib/observe/audit/positions';
import { CaptureBuilder } from './capture-builder';
import { leakAudit, testFolder } from './command';

const folder = testFolder();
const file = (name: string) => path.join(folder, name);

beforeAll(() => {
  execFileSync('mkfifo', [file('pipe.js'), file('pipe.map')]);
  mkdirSync(file('folder.js'));
  symlinkSync('/dev/zero', file('zero.js'));
  symlinkSync('/dev/tty', file('tty.js'));
  writeFileSync(file('sparse.js'), '');
  truncateSync(file('sparse.js'), 2 ** 33);
  writeFileSync(file('to-pipe.js'), 'f();\n//# sourceMappingURL=pipe.map\n');
  writeFileSync(file('to-zero.js'), 'f();\n//# sourceMappingURL=/dev/zero\n');
  writeFileSync(file('to-web.js'), 'f();\n//# sourceMappingURL=http://127.0.0.1:1/x.map\n');
});

const NAMES = ['pipe', 'folder', 'zero', 'tty', 'sparse', 'to-pipe', 'to-zero', 'to-web'].map((name) => `${name}.js`);

test('pipes, devices, folders and endless files are skipped', async () => {
  const builder = new CaptureBuilder();
  for (const [i, name] of NAMES.entries()) builder.site(i + 1, [file(name), 1, 1, 'f']);
  for (let i = 1; i <= 3; i++)
    builder.tick(
      { ms: i * 250 },
      NAMES.map((_, k) => ({ site: k + 1, liveTensors: 1, liveBytes: 4 })),
    );
  writeFileSync(file('c.ltna'), builder.end().build());
  const { code, stdout } = await leakAudit(['report', file('c.ltna')], { NODE_OPTIONS: '--max-old-space-size=128' });
  expect(code).toBe(0);
  for (const name of NAMES) expect(stdout).toContain(`${name}:1:1`);
});

test('the library does not read such files for the lines that it reports itself', () => {
  for (const name of NAMES) {
    const frame = { file: file(name), line: 1, column: 1, function: 'f' };
    expect(original(frame)).toEqual(frame);
  }
});

test('a map with too many segments for memory is not decoded', () => {
  const map = (mappings: string) => JSON.stringify({ version: 3, sources: ['src.ts'], names: [], mappings });
  writeFileSync(file('many.js'), 'f();\n//# sourceMappingURL=many.map\n');
  writeFileSync(file('many.map'), map(`AAAA${';'.repeat(5_000_000)}`));
  writeFileSync(file('few.js'), 'f();\n//# sourceMappingURL=few.map\n');
  writeFileSync(file('few.map'), map('AAAA'));
  const maps = new SourceMaps();
  const at = (name: string) => maps.resolve({ file: file(name), line: 1, column: 1, function: 'f' }).file;
  expect(at('many.js')).toBe(file('many.js'));
  expect(at('few.js')).toBe(file('src.ts'));
});

test('the text of sources is not kept, and the total size of a map’s lists is bounded', () => {
  const maps = new SourceMaps();
  const sources = Array.from({ length: 150_000 }, (_, i) => `${i}.ts`);
  for (const name of ['a', 'b']) {
    writeFileSync(file(`${name}.js`), `f();\n//# sourceMappingURL=${name}.map\n`);
    writeFileSync(file(`${name}.map`), JSON.stringify({ version: 3, sources, names: [], mappings: 'AAAA' }));
  }
  const at = (name: string) => maps.resolve({ file: file(name), line: 1, column: 1, function: 'f' }).file;
  expect([at('a.js'), at('b.js')]).toEqual([file('0.ts'), file('b.js')]);
});
