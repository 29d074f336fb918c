import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { limitMs } from '../support/sanitized';

const KILLS = Number(process.env.LIBTORCH_NODE_KILLS ?? 5);
const SEED = Number(process.env.LIBTORCH_NODE_SEED ?? Date.now() % 1e9);
jest.setTimeout(limitMs(120_000 + 5000 * KILLS));

const PROGRAM = path.join(__dirname, 'programs/killed.mjs');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'killed-'));
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

/** Numbers from 0 to 1 that the seed decides. */
function random(seed: number): () => number {
  let state = seed % 2147483647 || 1;
  return () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647;
  };
}

interface Run {
  stdout: string;
  killed: boolean;
}

/** Runs the program; kills it a random time after it has saved `saves` times, or lets it end. */
function start(file: string, epochs: number, kill: { saves: number; ms: number } | null): Promise<Run> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [PROGRAM, file, '3', String(epochs)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let stdout = '';
    let armed = kill !== null;
    child.stdout.on('data', (chunk) => {
      stdout += chunk;
      if (!armed || (stdout.match(/^saved/gm) ?? []).length < kill!.saves) return;
      armed = false;
      setTimeout(() => child.kill('SIGKILL'), kill!.ms);
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code === 0 || signal === 'SIGKILL') resolve({ stdout, killed: signal === 'SIGKILL' });
      else reject(new Error(`the program ended with ${code ?? signal}`));
    });
  });
}

const endOf = ({ stdout }: Run) => JSON.parse(/^END (.*)$/m.exec(stdout)![1]!);

test(`${KILLS} kills at random moments: the samples and the weights of a run that was not killed (seed ${SEED})`, async () => {
  const draw = random(SEED);
  // More epochs than all the kills take.
  const epochs = 4 + KILLS;
  const file = path.join(folder, 'killed.pt');
  let from = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    const run = await start(file, 1e6, { saves: 1 + Math.floor(draw() * 3), ms: draw() * 12 });
    expect([kill, run.killed]).toEqual([kill, true]);
    const [begun, saved] = [/^from (\d+)$/m, /^saved (\d+)(?![\s\S]*^saved)/m].map((line) =>
      Number(line.exec(run.stdout)![1]),
    );
    // It continues where a checkpoint was saved; the last one may have been saved without its line.
    expect(begun).toBeGreaterThanOrEqual(from);
    expect(saved).toBeGreaterThan(begun!);
    from = saved!;
  }
  const last = await start(file, epochs, null);
  const whole = await start(path.join(folder, 'whole.pt'), epochs, null);
  const [killed, expected] = [endOf(last), endOf(whole)];
  expect(Number(/^from (\d+)$/m.exec(last.stdout)![1])).toBeLessThan(203 * epochs);
  expect(killed.seen.length).toBe(203 * epochs);
  for (let epoch = 0; epoch < epochs; epoch++) {
    const samples = new Set(killed.seen.slice(203 * epoch, 203 * (epoch + 1)));
    expect([epoch, samples.size]).toEqual([epoch, 203]);
  }
  expect(killed).toEqual(expected);
});
