/** The digits example: its training, its service's answers, and the contents of its caches. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import type { MemoryReport } from 'libtorch-node';
import { type Digits, loadDigits, PIXELS } from '../../examples/digits/data';
import { runLoad } from '../../examples/digits/load';
import { startHttpService } from '../support/http-service';
import { type Outcome, type Running, run } from './programs';

const CAPACITY = 20;

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'digits-test-'));
const weights = path.join(folder, 'weights.pt');
let training: Outcome;
let heldOut: Digits;

beforeAll(async () => {
  training = await run('train.js', ['--epochs', '1', '--seed', '7', '--save', weights]);
  heldOut = loadDigits().heldOut;
});
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

const image = (i: number) => Array.from(heldOut.pixels.subarray(i * PIXELS, (i + 1) * PIXELS));
const imageWith = (at: number, value: unknown) => image(0).map((pixel, i) => (i === at ? value : pixel));

/** Runs the service during `use`, then shuts it down. */
async function withService<T>(cache: string, use: (url: string, service: Running) => Promise<T>): Promise<T> {
  const args = ['--weights', weights, '--cache', cache, '--capacity', String(CAPACITY)];
  const service = await startHttpService('digits/server.js', args);
  try {
    return await use(service.url, service);
  } finally {
    expect((await service.end()).stderr).toBe('');
  }
}

async function post(url: string, body: string, type = 'application/json') {
  const response = await fetch(`${url}/classify`, { method: 'POST', body, headers: { 'content-type': type } });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const memory = async (url: string) => (await (await fetch(`${url}/memory`)).json()) as MemoryReport;

const load = (url: string, requests: number) =>
  runLoad(url, heldOut, { requests, seconds: Number.POSITIVE_INFINITY, perSecond: 1e6, clients: 4 });

describe('training', () => {
  test('one pass is enough for more than 85 % of the held-out digits', () => {
    expect(training).toMatchObject({ code: 0, stderr: '' });
    const accuracy = /^epoch 1 +loss [\d.]+ +accuracy ([\d.]+) %\n$/.exec(training.stdout)?.[1];
    expect(Number(accuracy)).toBeGreaterThan(85);
  });

  test('the same seed gives the same weights, another seed different ones', async () => {
    const file = (seed: string) => path.join(folder, `seed-${seed}.bin`);
    for (const seed of ['7', '8']) await run('train.js', ['--epochs', '1', '--seed', seed, '--save', file(seed)]);
    expect(fs.readFileSync(file('7')).equals(fs.readFileSync(weights))).toBe(true);
    expect(fs.readFileSync(file('8')).equals(fs.readFileSync(weights))).toBe(false);
  });

  test('held-out digits are not among the training digits', () => {
    const { training: learned, heldOut: others } = loadDigits();
    expect(learned.labels.length + others.labels.length).toBe(10_000);
    expect(new Set(others.labels).size).toBe(10);
    const keys = ({ pixels, labels }: Digits) =>
      labels.map((_, i) => Buffer.from(pixels.slice(i * PIXELS, (i + 1) * PIXELS).buffer).toString('latin1'));
    const known = new Set(keys(learned));
    expect(keys(others).filter((key) => known.has(key))).toEqual([]);
  });
});

test.each(['unbounded', 'bounded'])('the service with the %s cache reads digits', async (cache) => {
  await withService(cache, async (url) => {
    const { status, body } = await post(url, JSON.stringify({ pixels: image(0) }));
    expect(status).toBe(200);
    const probabilities = body.probabilities as number[];
    expect(probabilities).toHaveLength(10);
    expect(probabilities.reduce((a, b) => a + b)).toBeCloseTo(1, 4);
    expect(body.digit).toBe(probabilities.indexOf(Math.max(...probabilities)));

    const result = await load(url, 300);
    expect(result).toMatchObject({ answered: 300, failed: 0 });
    expect(result.wrong).toBeLessThan(0.15 * 300);
  });
});

test('bad bodies are refused with 400 and a reason, and leak nothing', async () => {
  await withService('unbounded', async (url) => {
    const before = await memory(url);
    const bad: [string, RegExp][] = [
      ['{}', /required property 'pixels'/],
      ['[]', /must be object/],
      ['null', /must be object/],
      ['', /empty/],
      ['{"pixels": [', /JSON|Unexpected/],
      [JSON.stringify({ pixels: 'digit' }), /pixels must be array/],
      [JSON.stringify({ pixels: [] }), /fewer than 784/],
      [JSON.stringify({ pixels: [...image(0), 0] }), /more than 784/],
      [JSON.stringify({ pixels: imageWith(5, '0.5') }), /pixels\/5 must be number/],
      [JSON.stringify({ pixels: imageWith(5, null) }), /pixels\/5 must be number/],
      [JSON.stringify({ pixels: imageWith(5, -1) }), /pixels\/5 must be >= 0/],
      [JSON.stringify({ pixels: imageWith(783, 1.5) }), /pixels\/783 must be <= 1/],
    ];
    for (const [text, message] of bad) {
      const { status, body } = await post(url, text);
      expect([text.slice(0, 40), status]).toEqual([text.slice(0, 40), 400]);
      expect(body.message).toMatch(message);
    }
    expect((await post(url, JSON.stringify({ pixels: image(0), more: 'x'.repeat(1e5) }))).status).toBe(413);
    expect((await post(url, 'pixels', 'text/csv')).status).toBe(415);

    const { tensors, storages, bytes } = await memory(url);
    expect({ tensors, storages, bytes }).toEqual({
      tensors: before.tensors,
      storages: before.storages,
      bytes: before.bytes,
    });
  });
});

test('the unbounded cache keeps one tensor per request', async () => {
  await withService('unbounded', async (url) => {
    const before = await memory(url);
    for (let round = 1; round <= 3; round++) {
      await load(url, 100);
      const after = await memory(url);
      expect(after.tensors - before.tensors).toBe(100 * round);
      expect(after.bytes - before.bytes).toBe(100 * round * PIXELS * Float32Array.BYTES_PER_ELEMENT);
    }
  });
});

test('the bounded cache fills and then holds CAPACITY tensors', async () => {
  await withService('bounded', async (url) => {
    const before = await memory(url);
    await load(url, 10); // five images, each twice
    expect((await memory(url)).tensors - before.tensors).toBe(5);
    for (let round = 0; round < 3; round++) {
      await load(url, 100);
      const after = await memory(url);
      expect(after.tensors - before.tensors).toBe(CAPACITY);
      expect(after.bytes - before.bytes).toBe(CAPACITY * PIXELS * Float32Array.BYTES_PER_ELEMENT);
    }
  });
});

test('the load goes only to this machine, and ends in time', async () => {
  await expect(runLoad('http://192.0.2.1:80', heldOut, { requests: 1, seconds: 1, perSecond: 1 })).rejects.toThrow(
    /not on this machine/,
  );
  await withService('bounded', async (url) => {
    const { answered, failed } = await runLoad(url, heldOut, {
      requests: 1e6,
      seconds: 0.5,
      perSecond: 20,
      clients: 2,
    });
    expect(failed).toBe(0);
    expect(answered).toBeGreaterThan(0);
    expect(answered).toBeLessThan(20);
  });
});

test('the service prints its usage, and which weights it cannot read', async () => {
  const usage = await run('server.js', []);
  expect(usage).toMatchObject({ code: 1, stdout: '' });
  expect(usage.stderr).toMatch(/^usage: /);
  const file = path.join(folder, 'short.bin');
  fs.writeFileSync(file, 'short');
  const short = await run('server.js', ['--weights', file, '--cache', 'bounded']);
  expect(short).toMatchObject({ code: 1, stdout: '' });
  expect(short.stderr).toMatch(/short\.bin: torch\.load: not a zip archive/);
});
