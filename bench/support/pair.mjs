/** Runs a program as two ranks: `node pair.mjs COMMAND …`. Both get each line of stdin; rank 0 answers. */
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';

const [command, ...args] = process.argv.slice(2);
const port = await new Promise((resolve, reject) => {
  const server = createServer().on('error', reject);
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address();
    server.close(() => resolve(port));
  });
});
const ranks = [0, 1].map((rank) => {
  const env = {
    ...process.env,
    RANK: String(rank),
    WORLD_SIZE: '2',
    MASTER_ADDR: '127.0.0.1',
    MASTER_PORT: String(port),
  };
  const child = spawn(command, args, { env, stdio: ['pipe', rank === 0 ? 'inherit' : 'ignore', 'inherit'] });
  child.stdin.on('error', () => {}); // it has ended, which its status says
  process.stdin.pipe(child.stdin);
  return child;
});
const end = () => {
  for (const child of ranks) child.kill();
};
process.on('SIGTERM', end);
let status = 0;
for (const child of ranks) {
  child.on('exit', (code) => {
    if (code === 0) return;
    status = 1;
    end();
  });
}
await Promise.all(ranks.map((child) => new Promise((resolve) => child.on('close', resolve))));
process.exitCode = status;
