/** The audit attributes a batch to the line of the loop, also where it is made after an `await` or comes from a worker. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { run } from '../support/child';
import { LIB, ROOT } from '../support/torch';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'ltn-data-sites-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Loops over two batches each: of promises, of an asynchronous stream, of a worker, and with a function of the program. */
const PROGRAM = `const torch = require(${JSON.stringify(`${LIB}/index.js`)});
const { DataLoader } = torch.utils.data;
const kept = (globalThis.kept = []); // reachable until the exit
const later = { length: 4, getItem: async (i) => i };
const stream = { async *[Symbol.asyncIterator]() { yield* [1, 2, 3, 4]; } };
async function main() {
  for await (const batch of new DataLoader(later, { batchSize: 2 })) kept.push(batch); // line 7
  for await (const batch of new DataLoader(stream, { batchSize: 2 })) kept.push(batch);
  const loader = new DataLoader([1, 2, 3, 4], { batchSize: 2, numWorkers: 1 });
  for await (const batch of loader) kept.push(batch); // line 10
  await loader.dispose?.();
  const collateFn = (samples) => torch.tensor(samples); // line 12
  for await (const batch of new DataLoader(later, { batchSize: 2, collateFn })) kept.push(batch);
  console.log(kept.length);
}
main();
`;

test('the line of the loop, or that of the program’s own function', async () => {
  const script = path.join(folder, 'loops.js');
  writeFileSync(script, PROGRAM);
  const json = path.join(folder, 'report.json');
  const cli = path.join(ROOT, 'dist/cli/leak-audit.js');
  const capture = ['-o', path.join(folder, 'capture'), '--json', json, '--quiet'];
  const { code, stdout, stderr } = await run(process.execPath, [
    cli,
    'run',
    ...capture,
    '--',
    process.execPath,
    script,
  ]);
  expect({ code, stdout: stdout.trim(), stderr }).toEqual({ code: 0, stdout: expect.stringMatching(/^8/), stderr: '' });
  const { sites } = JSON.parse(readFileSync(json, 'utf8'));
  const lines = sites
    .filter(({ liveTensors }: any) => liveTensors > 0)
    .map(({ file, line, liveTensors }: any) => [path.basename(file), line, liveTensors]);
  expect(lines.sort((a: any, b: any) => a[1] - b[1])).toEqual([
    ['loops.js', 7, 2],
    ['loops.js', 8, 2],
    ['loops.js', 10, 2],
    ['loops.js', 12, 2],
  ]);
});
