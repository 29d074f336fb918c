/**
 * JavaScript in a backward whose nodes run on another thread, as on CUDA: the same results as on the thread of the JavaScript.
 * A machine with CUDA runs test/cuda/programs besides.
 */
import * as path from 'node:path';
import { run } from '../support/child';
import { LIB } from '../support/torch';

const program = path.join(__dirname, '../cuda/programs/backward.cjs');

async function outcome(env: NodeJS.ProcessEnv): Promise<{ results: Record<string, unknown>; isNew: boolean }> {
  const ran = await run(process.execPath, ['--expose-gc', program, LIB], { env: { ...process.env, ...env } });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  return JSON.parse(ran.stdout);
}

test('hooks, Functions and checkpoints compute the same, and leave nothing', async () => {
  const [here, elsewhere] = await Promise.all([
    outcome({ LTN_BACKWARD_THREAD: undefined }),
    outcome({ LTN_BACKWARD_THREAD: '1' }),
  ]);
  expect(here).toMatchObject({ isNew: false, tensors: 0, bytes: 0 });
  expect(elsewhere).toEqual({ ...here, isNew: true });
});
