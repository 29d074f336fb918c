/** Kernels that would read a tensor's numbers in a row, though it has a stride of 0. */
import * as path from 'node:path';
import { run } from '../support/child';
import { LIB } from '../support/torch';

test('an expanded tensor gives what its copy gives, in the calls of samples', async () => {
  const { stdout, code } = await run(process.execPath, [path.join(__dirname, 'expanded.cjs'), LIB]);
  expect(code).toBe(0);
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const { checks, tensors } = lines.pop();
  expect(lines).toEqual([]);
  expect(checks).toBeGreaterThan(3000);
  expect(tensors).toBe(0);
}, 120_000);
