/** Shutdown: SIGTERM under load does not lose accepted requests. */
import { once } from 'node:events';
import * as net from 'node:net';
import { LIMIT_MS, makeModels, PATIENT, question, type Service, startClients, startService } from './support';

let models: Awaited<ReturnType<typeof makeModels>>;
let service: Service;

beforeAll(async () => {
  models = await makeModels();
}, LIMIT_MS);
afterEach(() => service.kill());
afterAll(() => models.remove());

const CLIENTS = 16;

test.each([
  ['in this process', []],
  ['in workers', ['--workers', '2']],
])(
  'every client is answered until it is told to close its connection: %s',
  async (_where, args) => {
    // The grace period must not end before the clients on a slow machine.
    service = await startService(models.pathOf('reader'), ['--drain', '600000', ...PATIENT, ...args]);
    const clients = startClients({ url: service.url, connections: CLIENTS, seconds: 600 });
    await clients.allAnswered();
    const { answered, gone } = await service.end();
    const { answers, lost, closed, unconnected } = await clients.result;
    expect({ lost, closed, unconnected }).toEqual({ lost: 0, closed: CLIENTS, unconnected: 0 });
    expect(answers).toEqual({ 200: expect.any(Number) });
    expect({ answered, gone }).toEqual({ answered: answers[200], gone: 0 }); // there were no other requests
    expect(service.said()).toBe('');
    await expect(service.get('/health/live')).rejects.toThrow();
  },
  LIMIT_MS,
);

test(
  'running and waiting batches are finished, idle connections are closed',
  async () => {
    const limits = ['--max-batch', '1', '--threads', '1', '--drain', '100', ...PATIENT];
    service = await startService(models.pathOf('obedient'), limits);
    // A silent connection, and one with an incomplete request.
    const mute = [
      '',
      'POST /classify HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{',
    ];
    const closed = mute.map(async (text) => {
      const socket = net.connect(Number(new URL(service.url).port), '127.0.0.1');
      socket.on('error', () => {});
      socket.write(text);
      await once(socket, 'close');
    });
    const asked = [service.post(question(0.03))];
    await service.busy(asked[0]!);
    asked.push(service.post(question(0.001)), service.post(question()));
    await Promise.race([service.when(({ running, waiting }) => running === 1 && waiting === 2), Promise.all(asked)]);
    await service.end();
    for (const answer of asked) expect((await answer).status).toBe(200);
    await Promise.all(closed);
  },
  LIMIT_MS,
);

test(
  'while draining it is not ready, and open connections may still send requests',
  async () => {
    service = await startService(models.pathOf('obedient'), ['--drain', '600000']);
    const asked = service.post(question(0.01));
    await service.busy(asked);
    const socket = net.connect(Number(new URL(service.url).port), '127.0.0.1');
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('error', () => {});
    const ended = once(socket, 'close');
    await once(socket, 'connect');
    socket.write('GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n');
    while (!text.endsWith('}')) await once(socket, 'data');
    service.child.kill('SIGTERM');
    await service.shows(/^SIGTERM: draining$/m);
    text = '';
    socket.write('GET /health/ready HTTP/1.1\r\nhost: x\r\n\r\n');
    await ended;
    expect(text).toMatch(/^HTTP\/1\.1 503 [\s\S]*connection: close[\s\S]*\{"status":"draining"\}$/i);
    expect((await asked).status).toBe(200);
    await service.end(true);
  },
  LIMIT_MS,
);
