/** A capture is not lost to another output, nor to another recording while it is written. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { startProgram } from '../support/program';
import { leakyCapture } from './capture-builder';
import { CLI, fixture, leakAudit, refused, testFolder } from './command';

const folder = testFolder();
const at = (name: string) => path.join(folder, name);

test('an output does not replace a capture', async () => {
  const bytes = leakyCapture().end().build();
  const [first, second] = ['first.ltna', 'second.ltna'].map(at) as [string, string];
  for (const file of [first, second]) fs.writeFileSync(file, bytes);
  const expected = `leak-audit: cannot write ${first}: it is a capture, which would be lost. Name another file`;
  for (const command of [
    ['report', '--json', first, second],
    ['report', '--html', first, second],
    ['diff', '--json', first, second, second],
    ['check', '--junit', first, second],
    ['export', '--csv', first, second],
    ['run', '--html', first, '--', process.execPath, '-e', '1'],
  ]) {
    expect(await refused(...command)).toBe(expected);
  }
  expect(fs.readFileSync(first)).toEqual(bytes);
  const json = at('report.json');
  for (let i = 0; i < 2; i++) expect(await leakAudit('report', '--json', json, second)).toMatchObject({ code: 0 });
});

test('a recording does not replace a capture that is still written', async () => {
  const file = at('shared.ltna');
  // The first program waits before it loads the library, so that only leak-audit has the capture open.
  const program = `process.stdin.once('data', () => {
    const torch = require(${JSON.stringify(path.resolve(__dirname, '../../dist/lib'))});
    globalThis.held = torch.zeros([16]);
    process.stdout.write('loaded');
    process.stdin.once('data', () => process.exit(0));
  });
  process.stdout.write('waiting');`;
  const args = ['run', '--quiet', '-o', file, '--', process.execPath, '-e', program];
  const first = startProgram(process.execPath, [CLI, ...args], process.env, 'pipe');
  const again = ['run', '--quiet', '-o', file, '--', process.execPath, fixture('clean.cjs'), '1'];
  const message =
    /^leak-audit: cannot write .*shared\.ltna: process \d+ writes a capture there\. Name another with -o FILE$/;
  await first.shows(/waiting/);
  expect(await refused(...again)).toMatch(message);
  first.child.stdin!.write('load');
  await first.shows(/loaded/);
  expect(await refused(...again)).toMatch(message);
  first.child.stdin!.write('end');
  expect(await first.ended).toMatchObject({ code: 0, stdout: expect.stringContaining('1 tensor') });
  expect(await leakAudit(again)).toMatchObject({ code: 0 });
});
