/** Input: right answers, and a defined answer without leaks for everything else. */
import { once } from 'node:events';
import * as net from 'node:net';
import { run } from '../support/child';
import { limitMs, ordinaryEnv } from '../support/sanitized';
import { ROOT } from '../support/torch';
import { LIMIT_MS, makeModels, PATIENT, picture, question, type Service, startClients, startService } from './support';

let models: Awaited<ReturnType<typeof makeModels>>;
let service: Service;

beforeAll(async () => {
  models = await makeModels();
}, LIMIT_MS);
afterEach(() => service.kill());
afterAll(() => models.remove());

const bytesOf = (values: number[]) => new Uint8Array(Float32Array.from(values).buffer);
const BYTES = 'application/octet-stream';

/** A request that is sent only partially. */
async function sendPart(url: string, text: string): Promise<net.Socket> {
  const socket = net.connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(text);
  return socket;
}

const headOf = (length: number) =>
  `POST /classify HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;

test(
  'the model of the example reads digits that clients send',
  async () => {
    const file = models.newFile('trained');
    const { code, stdout } = await run(
      '/usr/bin/python3',
      [`${ROOT}/examples/service/model.py`, file, '--epochs', '1'],
      {
        env: ordinaryEnv(),
        limitMs: 300_000,
      },
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^epoch 1 {3}accuracy \d\d\.\d%\n$/) });
    service = await startService(file, PATIENT);
    const base = await service.health();
    expect(base.memory).toMatchObject({ tensors: 1, bytes: expect.any(Number) }); // the model
    const clients = startClients({ url: service.url, connections: 8, seconds: 600, requests: 50 });
    const { answers, right, lost } = await clients.result;
    expect({ answers, lost }).toEqual({ answers: { 200: 400 }, lost: 0 });
    expect(right).toBeGreaterThan(0.75 * 400);
    await service.settled(base);
    const metrics = await service.metrics();
    expect(metrics.get('service_batch_size_sum')).toBe(400);
    expect(metrics.get('service_batch_size_count')).toBeLessThan(400); // some batches had several requests
    expect(metrics.get('service_request_seconds_count{route="/classify",status="200"}')).toBe(400);
    expect(metrics.get('libtorch_node_live_bytes{device="cpu"}')).toBe(base.memory.bytes);
    expect(metrics.get('libtorch_node_memory_limit_bytes')).toBe(512 * 2 ** 20);
    await service.end();
  },
  LIMIT_MS,
);

test(
  'JSON and bytes get the same answer',
  async () => {
    service = await startService(models.pathOf('reader'));
    const json = await service.post(question(0.5, 1));
    const bytes = await service.post(bytesOf(picture(0.5, 1)), BYTES);
    expect([json.status, bytes.status]).toEqual([200, 200]);
    expect(json.body).toEqual(bytes.body);
    expect(Object.keys(json.body)).toEqual(['digit', 'probabilities', 'model']);
    expect(json.body.probabilities).toHaveLength(10);
    await service.end();
  },
  LIMIT_MS,
);

test(
  'wrong bodies are refused with a reason, and leak nothing',
  async () => {
    service = await startService(models.pathOf('reader'));
    const base = await service.health();
    const pixels = (at: number, value: unknown) =>
      JSON.stringify({ pixels: picture().map((p, i) => (i === at ? value : p)) });
    const bad: [string | Uint8Array<ArrayBuffer>, string, number, RegExp][] = [
      ['{}', 'application/json', 400, /required property 'pixels'/],
      ['[]', 'application/json', 400, /must be object/],
      ['null', 'application/json', 400, /must be object/],
      ['', 'application/json', 400, /empty/],
      ['{"pixels": [0, 1', 'application/json', 400, /JSON/],
      [pixels(3, '#').replace('"#"', 'NaN'), 'application/json', 400, /JSON/],
      [pixels(3, '#').replace('"#"', '1e999'), 'application/json', 400, /pixels\/3 must be number/],
      [pixels(3, null), 'application/json', 400, /pixels\/3 must be number/],
      [pixels(3, '0.5'), 'application/json', 400, /pixels\/3 must be number/],
      [pixels(3, true), 'application/json', 400, /pixels\/3 must be number/],
      [pixels(3, [0]), 'application/json', 400, /pixels\/3 must be number/],
      [pixels(3, -0.1), 'application/json', 400, /pixels\/3 must be >= 0/],
      [JSON.stringify({ pixels: 'digit' }), 'application/json', 400, /pixels must be array/],
      [JSON.stringify({ pixels: [] }), 'application/json', 400, /fewer than 784/],
      [JSON.stringify({ pixels: [picture()] }), 'application/json', 400, /fewer than 784/],
      [JSON.stringify({ pixels: [...picture(), 0] }), 'application/json', 400, /more than 784/],
      [JSON.stringify({ pixels: picture(), more: 1 }), 'application/json', 400, /additional properties/],
      [JSON.stringify({ pixels: picture(), more: 'x'.repeat(1e5) }), 'application/json', 413, /too large/],
      [new Uint8Array(1e5), BYTES, 413, /too large/],
      [bytesOf(picture()).slice(1), BYTES, 400, /expected 3136 bytes, got 3135/],
      [bytesOf([...picture(), 0]), BYTES, 400, /expected 3136 bytes, got 3140/],
      [bytesOf(picture(0, Number.NaN)), BYTES, 400, /pixel 1: .* got NaN/],
      [bytesOf(picture(Number.POSITIVE_INFINITY)), BYTES, 400, /pixel 0: .* got Infinity/],
      [bytesOf(picture(-1)), BYTES, 400, /pixel 0: .* got -1/],
      ['pixels', 'text/csv', 415, /media type/i],
      ['pixels', 'text/plain', 415, /media type/i],
    ];
    for (const [body, type, status, message] of bad) {
      const what = typeof body === 'string' ? body.slice(0, 40) : `${body.length} bytes`;
      const answer = await service.post(body, type);
      expect([what, answer.status, answer.body.message]).toEqual([what, status, expect.stringMatching(message)]);
      expect(answer.body.error).toMatch(/^[A-Z_]+$/);
    }
    const unknown = await service.get('/nowhere');
    expect([unknown.status, await unknown.json()]).toEqual([
      404,
      { error: 'NOT_FOUND', message: 'GET /nowhere is not a route' },
    ]);
    await service.settled(base);
    expect((await service.metrics()).get('service_batch_size_count')).toBe(0);
    expect((await service.post(question())).status).toBe(200);
    await service.end();
    expect(service.said()).toBe('');
  },
  LIMIT_MS,
);

test(
  'truncated and endless bodies do not hold memory',
  async () => {
    // Complete requests must also arrive within that time, even if the clients are rarely scheduled.
    service = await startService(models.pathOf('reader'), ['--body-timeout', String(limitMs(500))]);
    const base = await service.health();
    const body = question();
    for (let i = 0; i < 30; i++) {
      const socket = await sendPart(service.url, headOf(body.length) + body.slice(0, i * 50));
      if (i % 2 === 0) socket.destroy();
      else socket.resetAndDestroy();
    }
    const endless = await sendPart(service.url, headOf(body.length) + body.slice(0, 100));
    let answer = '';
    endless.setEncoding('utf8').on('data', (chunk: string) => {
      answer += chunk;
    });
    await once(endless, 'close');
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    await service.settled(base);
    expect((await service.post(body)).status).toBe(200);
    await service.end();
  },
  LIMIT_MS,
);

test(
  'a client that disconnects while waiting for a batch is removed from the queue',
  async () => {
    const limits = ['--max-batch', '1', '--threads', '1', ...PATIENT];
    service = await startService(models.pathOf('obedient'), limits);
    const base = await service.health();
    const busy = question(1); // longer than this test
    const quick = question(0);
    await sendPart(service.url, headOf(busy.length) + busy);
    await service.when(({ running }) => running === 1);
    const alone = await service.health();
    const waiting = [];
    for (let i = 0; i < 5; i++) waiting.push(await sendPart(service.url, headOf(quick.length) + quick));
    const crowded = await service.when((health) => health.waiting === 5);
    expect(crowded.memory.tensors).toBe(alone.memory.tensors); // what waits is not a tensor
    for (const socket of waiting) socket.destroy();
    const after = await service.when((health) => health.waiting === 0);
    expect(after.running).toBe(1);
    expect(after.memory.tensors).toBe(alone.memory.tensors);
    expect(alone.memory.tensors).toBeGreaterThan(base.memory.tensors);
    expect(alone.memory.bytes).toBe(base.memory.bytes); // the batch is on plain memory too
  },
  LIMIT_MS,
);

test(
  'a batch that needs too much memory is refused, the next one is not',
  async () => {
    service = await startService(models.pathOf('obedient'), ['--memory-limit', '64']);
    const base = await service.health();
    for (let i = 0; i < 3; i++) {
      const answer = await service.post(question(0, 1));
      expect([answer.status, answer.body.error]).toEqual([503, 'OUT_OF_MEMORY']);
      expect(answer.headers.get('retry-after')).toBe('1');
      expect(answer.body.message).not.toMatch(/bytes/);
    }
    expect((await service.post(question())).status).toBe(200);
    await service.settled(base);
    await service.end();
    expect(service.said()).toMatch(/limit/);
  },
  LIMIT_MS,
);

test(
  'the command line is checked',
  async () => {
    service = await startService(models.pathOf('reader'));
    await service.end();
    const main = `${ROOT}/dist/examples/service/main.js`;
    const usage = await run(process.execPath, [main]);
    expect(usage).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^usage: /) });
    for (const [args, message] of [
      [['--model', 'x', '--max-batch', '0'], /^--max-batch: expected an integer from 1 to 1000000, got 0\n$/],
      [['--model', 'x', '--port', 'http'], /^--port: expected an integer/],
      [['--model', '/nowhere/model.pt'], /^ENOENT/],
      [['--model', main, '--port', '0'], /^jit\.load: /],
      [['--model', main, '--port', '0', '--workers', '1'], /^jit\.load: /],
    ] as const) {
      const { code, stdout, stderr } = await run(process.execPath, [main, ...args]);
      expect({ args, code, stderr }).toEqual({ args, code: 1, stderr: expect.stringMatching(message) });
      expect(stdout).not.toContain('listening');
    }
  },
  LIMIT_MS,
);
