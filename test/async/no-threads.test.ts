/** A process that may not start another thread: calls for the pool reject, and the event loop goes on. */
import { program } from '../support/child';
import { ordinaryEnv } from '../support/sanitized';

test('calls reject where the system refuses a thread, and work once it allows one', async () => {
  // The C library keeps the stacks of a few threads that have ended.
  const env = { ...ordinaryEnv(), OMP_NUM_THREADS: '64' };
  const source = `
    const fs = require('fs');
    const { execFileSync } = require('child_process');
    // A thread's stack does not fit in what is left of the address space.
    const pages = () => Number(fs.readFileSync('/proc/self/statm', 'utf8').split(' ')[0]);
    const limit = (bytes) => execFileSync('prlimit', ['--pid', String(process.pid), '--as=' + bytes + ':']);
    const a = torch.ones([100, 100]);
    a.cumsum(0).dispose();
    const told = (promise) => promise.then((t) => t.dispose(), ({ code, message }) => ({ code, message }));
    (async () => {
      limit(pages() * 4096 + 16 * 1024 * 1024);
      const refused = [await told(torch.async.cumsum(a, 0)), await told(torch.run((t) => t.cumsum(a, 0)))];
      await new Promise((resolve) => setTimeout(resolve, 1)); // the event loop goes on
      const { queued, running } = torch.asyncPool;
      limit('unlimited');
      const later = await told(torch.async.cumsum(a, 0));
      a.dispose();
      answer({ refused, status: [queued, running], later, left: counts() });
    })();
  `;
  const { code: exit, stderr, answer } = await program(source, [], { env });
  expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
  const { refused, status, later, left } = answer;
  for (const { code, message } of refused) {
    expect(code).toBe('ERR_TORCH_RUNTIME');
    expect(message).toMatch(/expected the \d+ threads? of libtorch's pool, got \d+: /);
  }
  expect(status).toEqual([0, 0]);
  expect(later).toBeUndefined();
  expect(left).toEqual({ tensors: 0, storages: 0, bytes: 0 });
});
