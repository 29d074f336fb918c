/**
 * Starts the ranks of a group on this machine, and ends all if one fails.
 * `node run.mjs [--ranks N] [--python N] [arguments of train.js]`
 * With --python, the last N ranks are PyTorch's (mixed.py; PYTHON names the interpreter).
 */
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const options = { ranks: { type: 'string', default: '2' }, python: { type: 'string', default: '0' } };
const { values, tokens } = parseArgs({ options, strict: false, allowPositionals: true, tokens: true });
const [count, ofPython] = [Number(values.ranks), Number(values.python)];
const isValid =
  Number.isInteger(count) && count >= 1 && Number.isInteger(ofPython) && ofPython >= 0 && ofPython <= count;
if (!isValid) {
  console.error('expected --ranks N with N of 1 or more, and --python from 0 to N');
  process.exit(2);
}
/** What this program does not take is for the ranks. */
const own = new Set();
for (const token of tokens) {
  if (token.kind !== 'option' || !(token.name in options)) continue;
  own.add(token.index);
  if (!token.inlineValue) own.add(token.index + 1);
}
const rest = process.argv.slice(2).filter((_, i) => !own.has(i));

/** A port that is free now. */
const port = await new Promise((resolve, reject) => {
  const server = createServer().on('error', reject);
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address();
    server.close(() => resolve(port));
  });
});

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const threads = process.env.OMP_NUM_THREADS ?? '1'; // the ranks share the cores
const children = Array.from({ length: count }, (_, rank) => {
  const [command, program] =
    rank < count - ofPython
      ? [process.execPath, here('train.js')]
      : [process.env.PYTHON ?? 'python3', here('mixed.py')];
  const env = {
    ...process.env,
    ...{ RANK: String(rank), LOCAL_RANK: String(rank), WORLD_SIZE: String(count) },
    ...{ MASTER_ADDR: '127.0.0.1', MASTER_PORT: String(port), OMP_NUM_THREADS: threads },
  };
  return spawn(command, [program, ...rest], { env, stdio: ['ignore', 'inherit', 'inherit'] });
});

let status = 0;
const end = () => {
  for (const child of children) if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
};
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, end);
await Promise.all(
  children.map(
    (child, rank) =>
      new Promise((resolve) => {
        const ended = (code, signal) => {
          if (code !== 0 && status === 0) {
            console.error(`rank ${rank} ended with ${signal ?? `status ${code}`}`);
            status = 1;
            end();
          }
          resolve();
        };
        child.on('error', (error) => ended(error.message, null)).on('exit', ended);
      }),
  ),
);
process.exitCode = status;
