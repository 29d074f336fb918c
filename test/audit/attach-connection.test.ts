/** How leak-audit reads the answer to a question. */
import { type ChildProcess, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { createInterface } from 'node:readline';
import { Connection } from '../../cli/attach/connection';
import { limitMs } from '../support/sanitized';

jest.setTimeout(limitMs(120_000));

/** Listens like the library, but answers each question only after the next one: late, and in order. */
const LATE = `
  const fs = require('node:fs');
  const space = /\\d+/.exec(fs.readlinkSync('/proc/self/ns/pid'))[0];
  const own = fs.readFileSync('/proc/self/status', 'utf8').match(/^NSpid:.*?(\\d+)$/m)[1];
  let questions = 0;
  const server = require('node:net').createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (text) => {
      for (const line of text.toString().trimEnd().split('\\n')) {
        if (++questions > 1) socket.write(JSON.stringify({ ok: true, answerTo: questions - 1 }) + '\\n');
        console.log(line);
      }
    });
  });
  server.listen({ path: '\\0' + ('libtorch-node/' + space + '/' + own + '/').padEnd(107, '.') }, () => console.log('ready'));`;

/** Code that writes to each connection, called `socket`. */
const writes = (code: string) => LATE.replace(/socket\.on\('data'[\s\S]*?\n {4}\}\);/, `socket.resume();\n${code}`);

const MiB = 2 ** 20;

/** In small chunks, so that rescanning all of them for each chunk takes forever: ten billion characters. */
const WITHOUT_END = writes(`
  const part = Buffer.alloc(4096, 'x');
  const more = () => {
    while (!socket.destroyed) if (!socket.write(part)) return void socket.once('drain', more);
  };
  socket.on('close', () => console.log('closed'));
  more();`);

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

async function late(code = LATE): Promise<{ pid: string; lines: AsyncIterator<string> }> {
  const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe('ready');
  return { pid: String(child.pid), lines };
}

test('after a timeout the process is not asked again, and a late answer is ignored', async () => {
  const { pid } = await late();
  const connection = await Connection.open(pid, 50);
  await expect(connection.ask('status')).rejects.toThrow(`process ${pid} does not answer (is it stopped?)`);
  await expect(connection.ask('snapshot')).rejects.toThrow(`process ${pid} ended or closed the connection`);
  await connection.ended;
  connection.close();
});

test('answers within the timeout are returned in order', async () => {
  const { pid, lines } = await late();
  const connection = await Connection.open(pid);
  const first = connection.ask('status');
  expect((await lines.next()).value).toBe('ltn1 status');
  const second = connection.ask('snapshot');
  expect(await first).toEqual({ ok: true, answerTo: 1 });
  connection.close();
  await expect(second).rejects.toThrow('ended or closed the connection');
});

test('an endless line is not rescanned for each chunk, and is abandoned', async () => {
  const { pid, lines } = await late(WITHOUT_END);
  let searched = 0;
  const { indexOf } = String.prototype;
  const spy = jest.spyOn(String.prototype, 'indexOf').mockImplementation(function (this: string, what, from) {
    if (what === '\n') searched += this.length;
    return indexOf.call(this, what, from);
  });
  try {
    const connection = await Connection.open(pid, limitMs(60_000));
    await expect(connection.ask('status')).rejects.toThrow(`process ${pid} ended or closed the connection`);
    await connection.ended;
  } finally {
    spy.mockRestore();
  }
  expect(searched).toBeGreaterThan(60 * MiB);
  expect(searched).toBeLessThan(80 * MiB);
  expect((await lines.next()).value).toBe('closed');
});

test('a line that is too long is refused, even if its end came with it', async () => {
  const { pid } = await late(writes(`socket.write('{"ok":true,"x":"' + 'x'.repeat(64 * ${MiB}) + '"}\\n')`));
  const connection = await Connection.open(pid, limitMs(60_000));
  await expect(connection.ask('status')).rejects.toThrow(`process ${pid} ended or closed the connection`);
});

test('an answer in many chunks, and many answers in one chunk', async () => {
  const { pid } = await late(
    writes(
      `socket.write('{"ok":true,"x":"' + 'x'.repeat(3 * ${MiB}) + '"}\\n{"ok":true,"n":2}\\n{"ok":true,"n":3}\\n')`,
    ),
  );
  const connection = await Connection.open(pid, limitMs(60_000));
  const answers = await Promise.all(['status', 'status', 'status'].map((verb) => connection.ask(verb)));
  expect(answers.map(({ x, n }) => (x === undefined ? n : (x as string).length))).toEqual([3 * MiB, 2, 3]);
  connection.close();
});

/** Keeps the first connection until a signal, and refuses then, as it does with each later one. */
const refuses = (refused: string) =>
  writes(`
  const refuse = (one) => one.write('{"error":"not now"}\\n', () => one.destroy());
  socket.once('close', () => require('node:fs').writeFileSync(${JSON.stringify(refused)}, ''));
  if (questions++ > 0) return void refuse(socket);
  process.once('SIGUSR2', () => refuse(socket));
  console.log('waits');`);

test('a refusal that arrives while the question is written is read from another connection', async () => {
  const refused = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'ltn-refused-')), 'refused');
  try {
    const { pid, lines } = await late(refuses(refused));
    const connection = await Connection.open(pid);
    expect((await lines.next()).value).toBe('waits');
    process.kill(Number(pid), 'SIGUSR2');
    // Blocks this thread, which therefore does not read the refusal before it writes.
    const limit = performance.now() + limitMs(60_000);
    while (!fs.existsSync(refused) && performance.now() < limit)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    await expect(connection.ask('status')).rejects.toThrow(`process ${pid}: not now`);
  } finally {
    fs.rmSync(path.dirname(refused), { recursive: true });
  }
});
