/** Ranks that PyTorch's own launcher starts. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import * as net from 'node:net';
import * as os from 'node:os';
import path from 'node:path';
import { freePort } from './ddp/ranks';
import { type Ended, end, PROGRAMS, torchrunHasAddress } from './ranks';

const hasAddress = torchrunHasAddress();
const ifAddress = hasAddress ? test : test.skip;

/** Runs torchrun to its end. */
function torchrun(where: readonly string[], args: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
  const run = ['/usr/bin/python3', '-m', 'torch.distributed.run', '--no_python', '--redirects=1', '--tee=1'];
  const program = [process.execPath, path.join(PROGRAMS, 'launched.mjs'), ...args];
  return end([...run, '--nnodes=1', '--nproc_per_node=2', ...where, ...program], env);
}

/** What two ranks in Node have printed, sorted. */
function printed({ status, stdout, stderr }: Ended) {
  expect([status, status === 0 ? '' : stderr]).toEqual([0, '']);
  return stdout.match(/rank \d done.*/g)?.sort();
}

/** Of the errors of c10d's stores. */
const PORT_TAKEN = /EADDRINUSE|[Aa]ddress already in use/;

/** Calls `start` with a port that was free, and again with another one if a program has taken it since. */
async function atFreePort(start: (port: number) => Promise<Ended>): Promise<Ended> {
  for (let left = 5; ; left--) {
    const ended = await start(await freePort());
    if (left === 0 || ended.status === 0 || !PORT_TAKEN.test(ended.stderr)) return ended;
  }
}

// Also a PyTorch without libuv.
test('torchrun that meets in a file starts two ranks again when one fails', async () => {
  const made = mkdtempSync(path.join(os.tmpdir(), 'torchrun-'));
  try {
    const where = ['--rdzv_backend=c10d', `--rdzv_endpoint=${made}/meeting`, '--rdzv_conf=store_type=file'];
    const env = { TORCH_DISABLE_SHARE_RDZV_TCP_STORE: '1' };
    const address = hasAddress ? [] : ['--local_addr=127.0.0.1']; // an option of PyTorch 2
    const ended = await torchrun([...where, ...address, '--max_restarts=1'], ['restart'], env);
    expect(printed(ended)).toEqual([0, 1].map((rank) => `rank ${rank} done, restarts 1, agent's store False`));
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
});

ifAddress('torchrun starts two ranks in Node', async () => {
  const lines = printed(await torchrun(['--rdzv_backend=c10d', '--rdzv_endpoint=127.0.0.1:0']));
  expect(lines).toEqual([0, 1].map((rank) => expect.stringMatching(`^rank ${rank} done, restarts 0, agent's store `)));
});

// Its agent has the store, at the port that it is given, and keeps it when it starts the ranks again.
ifAddress('torchrun with a static rendezvous starts two ranks again when one fails', async () => {
  const ended = await atFreePort((port) =>
    torchrun(['--master_addr=127.0.0.1', `--master_port=${port}`, '--max_restarts=1'], ['restart']),
  );
  expect(printed(ended)).toEqual([0, 1].map((rank) => `rank ${rank} done, restarts 1, agent's store True`));
});

ifAddress('torchrun says so if the port is taken, and the test above takes another one', async () => {
  const taken = net.createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const ports = [(taken.address() as net.AddressInfo).port];
  try {
    const ended = await atFreePort((port) =>
      torchrun(['--master_addr=127.0.0.1', `--master_port=${ports.shift() ?? port}`]),
    );
    expect(printed(ended)).toHaveLength(2);
  } finally {
    taken.close();
  }
});
