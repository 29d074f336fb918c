/** DistributedDataParallel: Node's ranks train beside PyTorch's, and get the same bits. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { expectResident } from '../support/sanitized';
import { answers, freePort, type Language, startRank, startRanks } from './ddp/ranks';
import { expectDone, nodes, withoutGloo } from './ranks';

jest.setTimeout(240_000);

const STEPS = 50;
const CASES = ['plain', 'buckets', 'accumulated', 'unused', 'outputs', 'static', 'views', 'autocast', 'own buffers'];
/** Results of each rank by case. */
type Results = Record<string, { started: string; keys: string[]; weights: string; buffers: string; norms: string }>;

async function train(languages: Language[], cases: string[] = CASES): Promise<Results[]> {
  const ranks = await startRanks(languages, 'train', { STEPS: String(STEPS), CASES: JSON.stringify(cases) });
  return (await answers(ranks)).map((lines) => Object.fromEntries(lines.map((line) => [line.case, line])));
}

/** All ranks have the same parameters before and after. */
function agree(ranks: Results[], cases = CASES): void {
  for (const name of cases) {
    for (const key of ['started', 'weights', 'norms', 'keys'] as const) {
      const values = ranks.map((rank) => rank[name]![key]);
      expect([name, key, values]).toEqual([name, key, values.map(() => values[0])]);
    }
    expect(ranks[0]![name]!.weights).not.toBe(ranks[0]![name]!.started);
  }
}

describe('two ranks', () => {
  let python: Results[];
  beforeAll(async () => {
    python = await train(['python', 'python']);
  });

  test('of PyTorch agree, which the others are compared with', () => {
    agree(python);
    expect(python[0]!.plain!.keys[0]).toBe('module.conv.weight');
  });

  test.each([
    ['one of PyTorch and one of Node', ['python', 'node']],
    ['the other way round', ['node', 'python']],
    ['both of Node', ['node', 'node']],
  ] as [string, Language[]][])('%s: the bits of weights, buffers and norms of gradients', async (_, languages) => {
    const ranks = await train(languages);
    agree(ranks);
    expect(ranks).toEqual(python);
  });
});

test('four ranks of Node, and one of PyTorch among them', async () => {
  const cases = ['plain', 'accumulated', 'unused'];
  const node = await train(['node', 'node', 'node', 'node'], cases);
  agree(node, cases);
  expect(await train(['node', 'node', 'python', 'node'], cases)).toEqual(node);
});

test('steps in torch.run have the same bits', async () => {
  const [a, b] = await train(['node', 'node'], ['buckets', 'in torch.run']);
  expect(a!['in torch.run']).toEqual({ ...a!.buckets, case: 'in torch.run' });
  expect(b!['in torch.run']!.weights).toBe(a!.buckets!.weights);
});

test('the event loop is free while an all-reduce, or a backward in torch.run, waits for another rank', async () => {
  expectDone(await nodes('loop.mjs', 2));
});

/** 500 steps are quick; LIBTORCH_NODE_DDP_STEPS=10000 takes minutes. */
const MANY = Number(process.env.LIBTORCH_NODE_DDP_STEPS ?? 500);
/** Caches of allocators fill in the meantime. */
const MOST_GROWTH_MB = 24;

test.each(['0', '1'])('many steps hold what the first held (gradientAsBucketView: %s)', async (views) => {
  const ranks = await answers(await startRanks(['node', 'node'], 'steps', { STEPS: String(MANY), VIEWS: views }));
  for (const [{ counts, grownMb, freed }] of ranks as [any][]) {
    expect(counts).toHaveLength(1);
    expectResident(grownMb).toBeLessThan(MOST_GROWTH_MB);
    expect(freed).toBeGreaterThanOrEqual(4 * (64 * 256 + 256 * 10)); // the buckets, at least
  }
});

test('gradients that are views of buckets are counted once: a storage for each bucket, and its bytes', async () => {
  expectDone(await nodes('views.mjs', 2));
});

test('what cannot be trained is refused with a code', async () => {
  const ranks = await answers(await startRanks(['node', 'node'], 'mismatch'));
  for (const [{ outcomes, leftAtMost2 }] of ranks as [any][]) {
    expect(outcomes).toEqual({
      'no group': expect.stringMatching(/^ERR_TORCH_DISTRIBUTED: .*process group/),
      'no module': expect.stringMatching(/^ERR_TORCH_ARGUMENT: .*'module': expected a Module, got/),
      'unknown option': expect.stringMatching(/^ERR_TORCH_ARGUMENT: .*did you mean .?bucketCapMb/),
      bucketCapMb: expect.stringMatching(
        /^ERR_TORCH_ARGUMENT: .*'bucketCapMb': expected a positive number of MiB, got 0/,
      ),
      flag: expect.stringMatching(/^ERR_TORCH_ARGUMENT: .*'staticGraph': expected a boolean, got 1/),
      group: expect.stringMatching(/^ERR_TORCH_ARGUMENT: .*'processGroup': expected a ProcessGroup, got/),
      frozen: expect.stringMatching(/^ERR_TORCH_ARGUMENT: .*a module with a parameter that requires a gradient/),
      lazy: expect.stringMatching(/^ERR_TORCH_ARGUMENT: .*lazy parameters/),
      'in torch.run': expect.stringMatching(/^ERR_TORCH_PENDING: .*outside torch\.run/),
      copy: expect.stringMatching(/^ERR_TORCH_NOT_IMPLEMENTED: /),
      noSync: expect.stringMatching(/^ERR_TORCH_ARGUMENT: .*noSync: argument 'fn'/),
      disposed: expect.stringMatching(/^ERR_TORCH_DISPOSED: /),
      shapes: expect.stringMatching(/^ERR_TORCH_DISTRIBUTED: /),
    });
    expect(leftAtMost2).toBe(true);
  }
});

/** 20 times in CI; LIBTORCH_NODE_DDP_KILLS=100 takes minutes. */
const KILLS = Number(process.env.LIBTORCH_NODE_DDP_KILLS ?? 20);
/** Of the group. A rank notices the end of another one at once, so a slow machine does not reach this limit. */
const TIMEOUT_MS = 30_000;

/** A group that trains from the start, or from the checkpoint, until it is told to end. See ddp/endless.cjs. */
interface Round {
  round: number;
  port: number;
  resume: boolean;
  until?: number;
}

test(
  'a rank that is killed ends the other one with a code in time, and the group resumes with the same bits',
  async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ddp-'));
    const env = { CHECKPOINT: path.join(folder, 'saved.pt'), TIMEOUT_MS: String(TIMEOUT_MS) };
    const start = (rank: number) => startRank('node', 'endless', { rank, size: 2, port: 0 }, env, 'pipe');
    const ranks = [start(0), start(1)];
    /** What a rank says of a round. */
    const says = async (rank: number, round: number, what: string) =>
      JSON.parse((await ranks[rank]!.shows(new RegExp(`^\\{"round":${round},"${what}":.*\\}$`, 'm')))[0]);
    /** Lets both train; resolves with what they have after step 8. */
    const train = async (round: number, more: { resume: boolean; until?: number }) => {
      await Promise.all(ranks.map((each) => each.shows(/"ready"/))); // so that none joins late
      const line: Round = { round, port: await freePort(), ...more };
      for (const { child } of ranks) child.stdin!.write(`${JSON.stringify(line)}\n`);
      const reports = await Promise.all([0, 1].map((rank) => says(rank, round, 'first')));
      return reports.map(({ round: _, ...report }) => report);
    };
    try {
      const whole = await train(0, { resume: false });
      expect(whole.map(({ first }) => first)).toEqual([1, 1]);
      const resumed = whole.map((report) => ({ ...report, first: 5 }));
      for (let round = 0; round < KILLS; round++) {
        const victim = round % 2;
        const killedAt = performance.now();
        ranks[victim]!.child.kill('SIGKILL');
        const { code } = await says(1 - victim, round, 'code');
        expect(performance.now() - killedAt).toBeLessThan(TIMEOUT_MS + 2000);
        expect(code).toMatch(/^ERR_TORCH_(DISTRIBUTED|TIMEOUT)$/);
        expect((await ranks[victim]!.ended).signal).toBe('SIGKILL');
        ranks[victim] = start(victim);
        // The one that is left joins the next group, with the new process.
        const isLast = round === KILLS - 1;
        expect(await train(round + 1, { resume: true, ...(isLast ? { until: 8 } : {}) })).toEqual(resumed);
      }
      for (const { child } of ranks) child.stdin!.end();
      const ended = await Promise.all(ranks.map((each) => each.ended));
      expect(ended.map(({ code, stderr }) => [code, withoutGloo(stderr)])).toEqual([
        [0, ''],
        [0, ''],
      ]);
    } finally {
      for (const { child } of ranks) child.kill('SIGKILL');
      fs.rmSync(folder, { recursive: true, force: true });
    }
  },
  240_000 + 20_000 * KILLS,
);
