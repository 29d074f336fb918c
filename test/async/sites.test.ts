/** Tools attribute results of torch.async to the line of the call, although they appear on a later turn of the event loop. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { run } from '../support/child';
import { LIB, ROOT } from '../support/torch';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'ltn-sites-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

test('the audit and TensorLogger report the line of the call', async () => {
  const script = path.join(folder, 'program.js');
  writeFileSync(
    script,
    `const torch = require(${JSON.stringify(`${LIB}/index.js`)});
const kept = [];
const logger = torch.TensorLogger.start({ frequency: 5, sampleBytes: 0, logger(text, { details }) {
  if (kept.length < 2) return;
  for (const { stack } of details) console.error(stack.split('\\n')[0]);
  logger.cancel();
  kept.length = 0;
} });
async function main() {
  kept.push(await torch.async.ones([50])); // line 10
  kept.push(await torch.run((t) => t.ones([70]).add(1)));
  await new Promise((resolve) => setTimeout(resolve, 100));
}
main();
`,
  );
  const json = path.join(folder, 'report.json');
  const cli = path.join(ROOT, 'dist/cli/leak-audit.js');
  const capture = ['-o', path.join(folder, 'capture'), '--json', json, '--quiet'];
  const { code, stderr } = await run(process.execPath, [cli, 'run', ...capture, '--', process.execPath, script]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(`${script}:10:`) });
  expect(stderr).toContain(`${script}:11:`);
  const { sites } = JSON.parse(readFileSync(json, 'utf8'));
  const lines = sites.map(({ file, line, allocatedTensors }: any) => [file, line, allocatedTensors]);
  expect(lines.sort((a: any, b: any) => a[1] - b[1])).toEqual([
    [script, 10, 1],
    [script, 11, 1],
  ]);
});
