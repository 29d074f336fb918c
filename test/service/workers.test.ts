/** A worker that dies: its requests get an error, others are not affected, and a new worker replaces it. */
import * as fs from 'node:fs';
import { LIMIT_MS, makeModels, PATIENT, question, type Service, startService } from './support';

let models: Awaited<ReturnType<typeof makeModels>>;
let service: Service;

beforeAll(async () => {
  models = await makeModels();
}, LIMIT_MS);
afterEach(() => service.kill());
afterAll(() => models.remove());

const bothReady = () => service.when(({ workers }) => workers.length === 2 && workers.every(({ ready }) => ready));

async function workerFigures(name: string): Promise<(number | undefined)[]> {
  const metrics = await service.metrics();
  return ['0', '1'].map((worker) => metrics.get(`service_worker_${name}{worker="${worker}"}`));
}

test.each(['SIGKILL', 'SIGABRT'] as const)(
  'ended by %s in the middle of a batch',
  async (signal) => {
    service = await startService(models.pathOf('obedient'), ['--workers', '2', '--max-batch', '1', ...PATIENT]);
    const base = await bothReady();
    const held = await workerFigures('live_bytes');
    const asked = service.post(question(1)); // longer than this test
    await service.when(({ running }) => running === 1);
    expect((await service.post(question())).status).toBe(200); // the other worker continues

    process.kill(base.workers[0]!.pid, signal);
    const { status, headers, body } = await asked;
    expect([status, body.error, headers.get('retry-after')]).toEqual([503, 'WORKER_GONE', '1']);
    expect(body.message).toContain(signal);

    const { workers } = await service.when(({ workers: [first] }) => first!.ready && first!.restarts === 1);
    expect(workers[0]!.pid).not.toBe(base.workers[0]!.pid);
    expect(workers[1]).toMatchObject({ pid: base.workers[1]!.pid, ready: true, restarts: 0 });
    for (let i = 0; i < 10; i++) expect((await service.post(question())).status).toBe(200);
    await service.settled(base);
    expect(await workerFigures('live_bytes')).toEqual(held);
    expect(await workerFigures('tensors')).toEqual([1, 1]);
    expect(await workerFigures('restarts')).toEqual([1, 0]);
    await service.end();
    expect(service.said()).toBe(`worker ${base.workers[0]!.pid} ended (${signal}); another takes its place\n`);
  },
  LIMIT_MS,
);

test(
  'all at once: waiting requests are answered by the restarted workers, with the last good model',
  async () => {
    const file = models.copyOf('reader');
    service = await startService(file, ['--workers', '2', '--poll', '50', ...PATIENT]);
    const base = await bothReady();
    fs.writeFileSync(file, 'no model');
    await service.when(({ model }) => model.problem !== null);
    for (const { pid } of base.workers) process.kill(pid, 'SIGKILL');
    await service.when(({ workers }) => workers.some(({ ready, restarts }) => !ready || restarts > 0));
    const answers = await Promise.all(Array.from({ length: 20 }, () => service.post(question())));
    for (const { status, body } of answers) {
      // One may have been sent to a worker whose end was not detected yet.
      if (status === 503) expect(body.error).toBe('WORKER_GONE');
      else expect([status, body.model]).toEqual([200, base.model.version]);
    }
    await service.when(({ workers }) => workers.every(({ ready, restarts }) => ready && restarts === 1));
    const last = await service.post(question());
    expect([last.status, last.body.model]).toEqual([200, base.model.version]);
    await service.settled(base);
    await service.end();
  },
  LIMIT_MS,
);

test(
  'without a worker it is alive but not ready',
  async () => {
    service = await startService(models.pathOf('reader'), ['--workers', '1']);
    const status = async (path: string) => (await service.get(`/health/${path}`)).status;
    expect([await status('live'), await status('ready')]).toEqual([200, 200]);
    const { workers } = await service.health();
    process.kill(workers[0]!.pid, 'SIGKILL');
    while ((await status('ready')) !== 503 && (await service.health()).workers[0]!.restarts === 0);
    expect(await status('live')).toBe(200);
    await service.when((health) => health.status === 'ready' && health.workers[0]!.restarts === 1);
    expect(await status('ready')).toBe(200);
    await service.end();
  },
  LIMIT_MS,
);
