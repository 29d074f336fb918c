/** The language example as a program: it trains, speaks, and streams over HTTP; clients that go away leave nothing behind. */
import * as fs from 'node:fs';
import * as http from 'node:http';
import * as os from 'node:os';
import * as path from 'node:path';
import { startHttpService } from '../support/http_service';
import { ROOT } from '../support/torch';

jest.setTimeout(240_000);

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'language-'));
const args = ['--folder', path.join(folder, 'model'), '--steps', '120', '--adapter-steps', '50', '--port', '0'];
let service: Awaited<ReturnType<typeof startHttpService>>;
beforeAll(async () => {
  service = await startHttpService('language/main.js', args);
});
afterAll(async () => {
  await service?.kill();
  fs.rmSync(folder, { recursive: true, force: true });
});

const ask = (question: object) =>
  fetch(`${service.url}/generate`, {
    method: 'POST',
    body: JSON.stringify(question),
    headers: { 'content-type': 'application/json' },
  });
interface Health {
  running: number;
  adapters: string[];
  memory: { tensors: number; bytes: number };
}
const health = async () => (await (await fetch(`${service.url}/health`)).json()) as Health;

/** Asks for a generation and goes away when its first text arrives. Resolves with that text. */
const leave = () =>
  new Promise<string>((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const request = http.request(`${service.url}/generate`, { method: 'POST', headers }, (response) => {
      response.once('data', (text) => {
        request.destroy();
        resolve(String(text));
      });
      response.on('error', () => {}); // the connection that this ends
    });
    request.on('error', reject);
    request.end(JSON.stringify({ prompt: 'Alice was', maxTokens: 250 }));
  });

test('it says its text, and that of the adapter', async () => {
  const greedy = { maxTokens: 30 };
  const plain = await (await ask({ prompt: 'Alice was', ...greedy })).text();
  expect(plain).toMatch(/^ beginning to get very tired of sitting by her sister on the bank/);
  const verse = await (await ask({ prompt: "'Twas", adapter: 'verse', ...greedy })).text();
  expect(verse).toMatch(/^ brillig, and the slithy toves\nDid gyre and gimble in the wabe/);
  // At the same time, each with its own adapter.
  const both = await Promise.all([
    ask({ prompt: 'Alice was', ...greedy }),
    ask({ prompt: "'Twas", adapter: 'verse', ...greedy }),
  ]);
  expect(await Promise.all(both.map((answer) => answer.text()))).toEqual([plain, verse]);
  const drawn = { prompt: 'The', maxTokens: 20, temperature: 1.5, topK: 100, topP: 0.95, seed: 7 };
  const first = await (await ask(drawn)).text();
  expect(await (await ask(drawn)).text()).toBe(first);
  expect(await (await ask({ ...drawn, seed: 8 })).text()).not.toBe(first);
});

test('bad questions are refused with a reason', async () => {
  const refused = async (question: object) => {
    const answer = await ask(question);
    return [answer.status, ((await answer.json()) as { message: string }).message];
  };
  expect(await refused({})).toEqual([400, expect.stringContaining("required property 'prompt'")]);
  expect(await refused({ prompt: 'a', topP: 0 })).toEqual([400, expect.stringContaining('topP must be > 0')]);
  expect(await refused({ prompt: 'a', adapter: 'x' })).toEqual([400, 'adapter: expected one of [verse], got "x"']);
  const tokens = 'prompt: expected fewer than 256 tokens, got 300';
  expect(await refused({ prompt: '日'.repeat(100) })).toEqual([400, tokens]);
});

test('200 clients that go away end their generations, and leave nothing behind', async () => {
  const before = await health();
  expect(before).toMatchObject({ running: 0, adapters: ['verse'] });
  for (let round = 0; round < 200; round += 10) {
    const texts = await Promise.all(Array.from({ length: 10 }, leave));
    expect(texts.join('').length).toBeGreaterThan(0);
  }
  let after = await health();
  while (after.running > 0) after = await health();
  expect(after).toEqual(before);
});

test('it printed its losses, its texts and the bytes of its cache, and its folder is read again', async () => {
  const { stdout } = await service.end();
  expect(stdout).toMatch(/^alice, step 1: loss 6\.\d+$/m);
  expect(stdout).toContain('--- with the adapter verse:\n\'Twas brillig');
  // 2 × 2 layers × 2 groups × 256 positions × 16 × 4 bytes
  expect(stdout).toContain('a full cache: 131072 bytes\nafter its end: 0 bytes\n');
  service = await startHttpService('language/main.js', args);
  const again = (await service.end()).stdout;
  expect(again).not.toContain('loss');
  expect(stdout.endsWith(again.slice(0, again.indexOf('listening')) + stdout.slice(stdout.indexOf('listening')))).toBe(true);
  expect(fs.readdirSync(path.join(folder, 'model')).sort()).toEqual([
    'config.json',
    'model.safetensors',
    'tokenizer.json',
    'verse',
  ]);
});

test('the texts are there in the package', () => {
  for (const name of ['alice.txt', 'jabberwocky.txt'])
    expect(fs.statSync(path.join(ROOT, 'examples/language', name)).size).toBeGreaterThan(400);
});
