/** The model file is replaced, damaged, removed and restored under load. */
import * as fs from 'node:fs';
import { LIMIT_MS, makeModels, PATIENT, question, type Service, sleep, startClients, startService } from './support';

let models: Awaited<ReturnType<typeof makeModels>>;
let service: Service;

beforeAll(async () => {
  models = await makeModels();
}, LIMIT_MS);
afterEach(() => service.kill());
afterAll(() => models.remove());

/** Replaces the file atomically. */
function replace(file: string, content: string | Buffer): void {
  fs.writeFileSync(`${file}.new`, typeof content === 'string' ? fs.readFileSync(content) : content);
  fs.renameSync(`${file}.new`, file);
}

const FILES = ['--poll', '50', ...PATIENT];

test.each([
  ['in this process', []],
  ['in workers', ['--workers', '2']],
])(
  'every file has the expected outcome, and requests are not affected: %s',
  async (_where, args) => {
    const file = models.copyOf('reader');
    service = await startService(file, [...FILES, ...args]);
    const base = await service.when(({ workers }) => workers.every(({ ready }) => ready));
    const workers = workersOf(await service.metrics());
    const first = base.model.version;
    const clients = startClients({ url: service.url, connections: 4, seconds: 600 });
    await clients.allAnswered();

    replace(file, models.pathOf('other'));
    const second = (await service.when(({ model }) => model.version !== first)).model.version;
    expect(second).toMatch(/^[0-9a-f]{12}$/);

    const whole = fs.readFileSync(models.pathOf('reader'));
    const bad: [() => void, RegExp][] = [
      [() => replace(file, whole.subarray(0, whole.length / 2)), /^jit\.load: /],
      [() => replace(file, Buffer.alloc(0)), /^jit\.load: /],
      [() => replace(file, models.pathOf('seven')), /trial image gave float32\[1,7\] instead of float32\[1,10\]/],
      [() => replace(file, models.pathOf('not-finite')), /trial image gave values that are not finite/],
      [() => fs.rmSync(file), /ENOENT/],
    ];
    const refusals = async () => (await service.metrics()).get('service_model_loads_total{outcome="refused"}') ?? 0;
    for (const [i, [damage, problem]] of bad.entries()) {
      damage();
      while ((await refusals()) === i) await sleep(20);
      const { model, status } = await service.health();
      expect([model.version, status, model.problem]).toEqual([second, 'ready', expect.stringMatching(problem)]);
      expect((await service.post(question())).body.model).toBe(second);
    }
    replace(file, whole);
    await service.when(({ model }) => model.version === first && model.problem === null);
    expect((await service.post(question())).body.model).toBe(first);

    clients.child.kill('SIGINT');
    const { answers, lost } = await clients.result;
    expect({ answers, lost }).toEqual({ answers: { 200: expect.any(Number) }, lost: 0 });
    await service.settled(base);
    expect(workersOf(await service.metrics())).toEqual(workers);
    await service.end();
    const said = service.said().trimEnd().split('\n');
    expect(said).toEqual(bad.map(() => expect.stringMatching(`^model ${second} stays: `)));
  },
  LIMIT_MS,
);

/** The memory of the workers' tensors. */
const workersOf = (metrics: Map<string, number>) =>
  [...metrics].filter(([name]) => /^service_worker_(tensors|live_bytes)/.test(name));

test(
  'SIGHUP loads the file at once',
  async () => {
    const file = models.copyOf('reader');
    service = await startService(file, ['--poll', '1000000']);
    const base = await service.health();
    replace(file, models.pathOf('other'));
    await sleep(200);
    expect((await service.health()).model.version).toBe(base.model.version);
    service.child.kill('SIGHUP');
    const { model } = await service.when((health) => health.model.version !== base.model.version);
    replace(file, Buffer.from('no model'));
    service.child.kill('SIGHUP');
    await service.when((health) => health.model.problem !== null);
    expect((await service.post(question())).body.model).toBe(model.version);
    await service.settled(base);
    await service.end();
  },
  LIMIT_MS,
);

test(
  'the replaced model finishes its batch and is then freed',
  async () => {
    const file = models.copyOf('obedient');
    service = await startService(file, [...FILES, '--threads', '1']);
    const base = await service.health();
    const asked = service.post(question(0.01)); // a second or so
    await service.busy(asked);
    replace(file, models.pathOf('reader'));
    await service.when(({ model }) => model.version !== base.model.version);
    expect((await asked).body.model).toBe(base.model.version);
    // The obedient model has 256 KiB more than this one; it is freed when the thread of its batch releases it.
    const isGone = ({ tensors, bytes }: typeof base.memory) => tensors === 1 && bytes < base.memory.bytes - 200_000;
    await service.when(({ running, memory }) => running === 0 && isGone(memory));
    await service.end();
  },
  LIMIT_MS,
);
