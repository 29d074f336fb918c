/** What leak-audit takes for the answer to a question. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { Connection } from '../../cli/attach/connection';
import { limitMs } from '../support/sanitized';

jest.setTimeout(limitMs(120_000));

/** It listens where the library would, and answers a question only when the next one has come: late, and in order. */
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

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

async function late(): Promise<{ pid: string; lines: AsyncIterator<string> }> {
  const child = spawn(process.execPath, ['-e', LATE], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe('ready');
  return { pid: String(child.pid), lines };
}

test('who does not answer in time is asked no more: what comes late is no answer to anything', async () => {
  const { pid } = await late();
  const connection = await Connection.open(pid, 50);
  await expect(connection.ask('status')).rejects.toThrow(`process ${pid} does not answer (is it stopped?)`);
  await expect(connection.ask('snapshot')).rejects.toThrow(`process ${pid} ended, or closed the connection`);
  await connection.ended;
  connection.close();
});

test('answers that come in time are given in order', async () => {
  const { pid, lines } = await late();
  const connection = await Connection.open(pid);
  const first = connection.ask('status');
  expect((await lines.next()).value).toBe('ltn1 status');
  const second = connection.ask('snapshot');
  expect(await first).toEqual({ ok: true, answerTo: 1 });
  connection.close();
  await expect(second).rejects.toThrow('ended, or closed the connection');
});
