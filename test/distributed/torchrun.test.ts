/** Ranks that PyTorch's own launcher starts. */
import path from 'node:path';
import { end, hasTorchrun, PROGRAMS } from './ranks';

const ifTorchrun = hasTorchrun() ? test : test.skip;

ifTorchrun('torchrun starts two ranks in Node', async () => {
  const run = ['/usr/bin/python3', '-m', 'torch.distributed.run', '--no_python', '--redirects=1', '--tee=1'];
  const where = ['--nnodes=1', '--nproc_per_node=2', '--rdzv_backend=c10d', '--rdzv_endpoint=127.0.0.1:0'];
  const command = [...run, ...where, process.execPath, path.join(PROGRAMS, 'launched.mjs')];
  const { status, stdout, stderr } = await end(command);
  expect([status, stdout.match(/rank \d done/g)?.sort(), status === 0 ? '' : stderr]).toEqual([
    0,
    ['rank 0 done', 'rank 1 done'],
    '',
  ]);
});
