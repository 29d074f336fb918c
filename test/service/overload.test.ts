/** Ten times as many clients as the service accepts. */
import { LIMIT_MS, makeModels, PATIENT, type Service, sleep, startClients, startService } from './support';

let models: Awaited<ReturnType<typeof makeModels>>;
let service: Service;

beforeAll(async () => {
  models = await makeModels();
}, LIMIT_MS);
afterEach(() => service.kill());
afterAll(() => models.remove());

const BATCH = 4;
const QUEUE = 16;
const ROOM = BATCH + QUEUE;

test(
  'requests are answered or refused, none hangs, and the number of tensors stays bounded',
  async () => {
    const limits = ['--max-batch', `${BATCH}`, '--max-queue', `${QUEUE}`, '--threads', '1', ...PATIENT];
    service = await startService(models.pathOf('obedient'), limits);
    const base = await service.health();
    // Some tenths of a second per batch: while one runs, all clients have connected.
    const clients = startClients({ url: service.url, connections: 10 * ROOM, seconds: 600, requests: 3, first: 0.002 });
    let under = true;
    const samples: { tensors: number; bytes: number; waiting: number }[] = [];
    const sampling = (async () => {
      while (under) {
        const { memory, waiting } = await service.health();
        samples.push({ ...memory, waiting });
        await sleep(20);
      }
    })();
    const result = await clients.result;
    under = false;
    await sampling;

    const { 200: answered, 503: refused, ...others } = result.answers;
    expect(others).toEqual({});
    expect(answered + refused).toBe(3 * 10 * ROOM);
    expect(answered).toBeGreaterThanOrEqual(ROOM);
    expect(refused).toBeGreaterThan(ROOM);
    expect(result).toMatchObject({ lost: 0, unconnected: 0, withoutRetryAfter: 0 });

    // The batch and its results, whatever the number of clients.
    const most = (field: 'tensors' | 'bytes' | 'waiting') => Math.max(...samples.map((sample) => sample[field]));
    expect(most('waiting')).toBeLessThanOrEqual(QUEUE);
    expect(most('tensors') - base.memory.tensors).toBeLessThanOrEqual(4);
    expect(most('bytes') - base.memory.bytes).toBeLessThanOrEqual((BATCH + 2) * 28 * 28 * 4);
    await service.settled(base);
    await service.end();
  },
  LIMIT_MS,
);

test(
  'requests that wait too long are refused',
  async () => {
    const limits = ['--max-batch', '1', '--threads', '1', '--queue-timeout', '200'];
    service = await startService(models.pathOf('obedient'), limits);
    const busy = startClients({ url: service.url, connections: 1, seconds: 600, requests: 1, first: 1 });
    await service.when(({ running }) => running === 1);
    const late = await startClients({ url: service.url, connections: 3, seconds: 600, requests: 1 }).result;
    expect(late).toMatchObject({ answers: { 503: 3 }, withoutRetryAfter: 0 });
    await service.kill();
    expect((await busy.result).answers).toEqual({});
  },
  LIMIT_MS,
);
