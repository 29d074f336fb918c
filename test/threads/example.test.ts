/** examples/workers, as its users run it. */
import * as path from 'node:path';
import { run } from '../support/child';
import { ROOT } from '../support/torch';

test('four threads search one matrix, and memory holds it once', async () => {
  const { code, stderr, stdout } = await run(process.execPath, [path.join(ROOT, 'dist/examples/workers/search.js')]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain('32 of 32 questions answered correctly by 4 threads');
  const [vectors, allocated] = /vectors: (\d+) MB, allocated in the whole process: (\d+) MB/
    .exec(stdout)!
    .slice(1)
    .map(Number);
  expect(vectors).toBe(128);
  expect(allocated! - vectors!).toBeLessThan(16);
});
