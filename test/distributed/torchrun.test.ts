/** Ranks that PyTorch's own launcher starts. */
import path from 'node:path';
import { freePort } from './ddp/ranks';
import { end, hasTorchrun, PROGRAMS } from './ranks';

const ifTorchrun = hasTorchrun() ? test : test.skip;

/** What two ranks in Node print, sorted. */
async function launched(where: readonly string[], args: readonly string[] = []) {
  const run = ['/usr/bin/python3', '-m', 'torch.distributed.run', '--no_python', '--redirects=1', '--tee=1'];
  const program = [process.execPath, path.join(PROGRAMS, 'launched.mjs'), ...args];
  const { status, stdout, stderr } = await end([...run, '--nnodes=1', '--nproc_per_node=2', ...where, ...program]);
  expect([status, status === 0 ? '' : stderr]).toEqual([0, '']);
  return stdout.match(/rank \d done.*/g)?.sort();
}

ifTorchrun('torchrun starts two ranks in Node', async () => {
  const lines = await launched(['--rdzv_backend=c10d', '--rdzv_endpoint=127.0.0.1:0']);
  expect(lines).toEqual([0, 1].map((rank) => expect.stringMatching(`^rank ${rank} done, restarts 0, agent's store `)));
});

// Its agent has the store, at the port that it is given, and keeps it when it starts the ranks again.
ifTorchrun('torchrun with a static rendezvous starts two ranks again when one fails', async () => {
  const where = ['--master_addr=127.0.0.1', `--master_port=${await freePort()}`, '--max_restarts=1'];
  expect(await launched(where, ['restart'])).toEqual(
    [0, 1].map((rank) => `rank ${rank} done, restarts 1, agent's store True`),
  );
});
