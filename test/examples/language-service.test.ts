/** The language example as a program: it trains, speaks, and streams over HTTP; clients that go away leave nothing behind. */
import * as fs from 'node:fs';
import * as http from 'node:http';
import * as os from 'node:os';
import * as path from 'node:path';
import { startHttpService } from '../support/http-service';
import { type Outcome, run } from './programs';

jest.setTimeout(240_000);

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'language-'));
const model = path.join(folder, 'model');
let trained: Outcome;
let service: Awaited<ReturnType<typeof startHttpService>>;
beforeAll(async () => {
  trained = await run('../language/main.js', ['--folder', model, '--steps', '100']);
  service = await startHttpService('language/main.js', ['--folder', model, '--port', '0']);
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
    request.end(JSON.stringify({ prompt: 'Alice was beginning', maxTokens: 250 }));
  });

test('it says its text, and that of the adapter', async () => {
  const greedy = { maxTokens: 30 };
  const plain = await (await ask({ prompt: 'Alice was beginning', ...greedy })).text();
  expect(plain).toMatch(/^ to get very tired of sitting by her sister on the bank/);
  const verse = await (await ask({ prompt: "'Twas", adapter: 'verse', ...greedy })).text();
  expect(verse).toMatch(/^ brillig, and the slithy toves\nDid gyre and gimble in the wabe/);
  // At the same time, each with its own adapter.
  const both = await Promise.all([
    ask({ prompt: 'Alice was beginning', ...greedy }),
    ask({ prompt: "'Twas", adapter: 'verse', ...greedy }),
  ]);
  expect(await Promise.all(both.map((answer) => answer.text()))).toEqual([plain, verse]);
  const drawn = { prompt: 'The', maxTokens: 20, temperature: 1.5, topK: 100, topP: 0.95, seed: 7 };
  const first = await (await ask(drawn)).text();
  expect(await (await ask(drawn)).text()).toBe(first);
  expect(await (await ask({ ...drawn, seed: 8 })).text()).not.toBe(first);
  // Numbers that float32 does not have: only the best token is left.
  const best = await (await ask({ prompt: 'The', maxTokens: 5, temperature: 0 })).text();
  expect(await (await ask({ prompt: 'The', maxTokens: 5, temperature: 1e-60 })).text()).toBe(best);
  expect(await (await ask({ prompt: 'The', maxTokens: 5, temperature: 1, topP: 1e-60 })).text()).toBe(best);
});

test('bad questions are refused with a reason', async () => {
  const refused = async (question: object) => {
    const answer = await ask(question);
    return [answer.status, ((await answer.json()) as { message: string }).message];
  };
  expect(await refused({})).toEqual([400, expect.stringContaining("required property 'prompt'")]);
  expect(await refused({ prompt: 'a', topP: 0 })).toEqual([400, expect.stringContaining('topP must be > 0')]);
  expect(await refused({ prompt: 'a', adapter: 'x' })).toEqual([400, 'adapter: expected one of [verse], got "x"']);
  const tokens = 'prompt: expected from 1 to 255 tokens, got 300';
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
  expect(trained).toMatchObject({ code: 0, stderr: '' });
  const { stdout } = trained;
  expect(stdout).toMatch(/^alice, step 1: loss 6\.\d+$/m);
  expect(stdout).toContain("--- with the adapter verse:\n'Twas brillig");
  // 2 × 2 layers × 2 groups × 256 positions × 16 × 4 bytes
  expect(stdout).toContain('a full cache: 131072 bytes\nafter its end: 0 bytes\n');
  const again = (await service.end()).stdout;
  expect(again).toMatch(/listening on .*\n$/);
  expect(stdout.endsWith(again.replace(/listening on .*\n$/, ''))).toBe(true);
  expect(fs.readdirSync(model).sort()).toEqual(['config.json', 'model.safetensors', 'tokenizer.json', 'verse']);
});
