/**
 * Checkpoints of a whole run: module with buffers and dropout, optimizer, schedule, the default generator and one of its own.
 * Saved by either side at the half and continued by the other, a run equals the uninterrupted one to the bit.
 */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { startProgram } from '../support/program';
import { LIB, torch, untyped } from '../support/torch';
import { optionsOf, oracle, plain } from './oracle';

const cases = [
  {
    steps: 1000,
    optimizer: 'AdamW',
    options: { lr: 0.01, amsgrad: true, weight_decay: 0.1 },
    scheduler: 'CosineAnnealingWarmRestarts',
    schedule: { T_0: 7, T_mult: 2 },
  },
  {
    steps: 100,
    optimizer: 'SGD',
    options: { lr: 0.1, momentum: 0.9, nesterov: true },
    scheduler: 'MultiStepLR',
    schedule: { milestones: [10, 60], gamma: 0.3 },
  },
  {
    steps: 100,
    optimizer: 'RMSprop',
    options: { lr: 0.01, centered: true },
    scheduler: 'ReduceLROnPlateau',
    schedule: { patience: 2 },
  },
];
type Case = (typeof cases)[number];

class Net extends torch.nn.Module {
  readonly first = new torch.nn.Linear(6, 8);
  readonly norm = new torch.nn.BatchNorm1d(8);
  readonly drop = new torch.nn.Dropout(0.3);
  readonly last = new torch.nn.Linear(8, 3);
  override forward(x: any): any {
    return this.last.forward(this.drop.forward(this.norm.forward(this.first.forward(x)).relu()));
  }
}

class Run {
  readonly net: any;
  readonly optimizer: any;
  readonly scheduler: any;
  readonly generator: any;
  readonly losses: unknown[] = [];

  constructor(readonly given: Case) {
    torch.manualSeed(1);
    this.net = new Net();
    this.optimizer = new untyped.optim[given.optimizer](this.net.parameters(), optionsOf(given.options));
    this.scheduler = new untyped.optim.lrScheduler[given.scheduler](this.optimizer, optionsOf(given.schedule));
    this.generator = new torch.Generator().manualSeed(2);
  }

  advance(steps: number): void {
    for (let step = 0; step < steps; step++) {
      torch.scope(() => {
        this.optimizer.zeroGrad();
        const x = torch.randn([16, 6], { generator: this.generator });
        const y = torch.randint(0, 3, [16], { generator: this.generator });
        const loss = torch.nn.functional.crossEntropy(this.net.forward(x), y);
        loss.backward();
        this.optimizer.step();
        this.losses.push(loss.item());
        this.scheduler.step(...(this.given.scheduler === 'ReduceLROnPlateau' ? [loss.item()] : []));
      });
    }
  }

  state(): Record<string, any> {
    return {
      net: this.net.stateDict(),
      optimizer: this.optimizer.stateDict(),
      scheduler: this.scheduler.stateDict(),
      random: torch.getRngState(),
      generator: this.generator.getState(),
    };
  }

  load(saved: any): void {
    for (const part of ['net', 'optimizer', 'scheduler'] as const) this[part].loadStateDict(saved[part]);
    torch.setRngState(saved.random);
    this.generator.setState(saved.generator);
  }
}

jest.setTimeout(300_000);

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'checkpoints-'));
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

test('a run saved by either side and continued by the other is the uninterrupted one, to the bit', async () => {
  const threads = torch.getNumThreads();
  torch.setNumThreads(1);
  try {
    const ours = cases.map((given) => {
      const run = new Run(given);
      run.advance(given.steps / 2);
      torch.save(run.state(), path.join(folder, `${given.optimizer}.js.pt`));
      run.advance(given.steps / 2);
      return { losses: run.losses, state: plain(run.state()) as Record<string, unknown> };
    });
    const { continued } = await oracle({ folder, checkpoint: cases });
    for (const [n, given] of cases.entries()) {
      const { whole, resumed } = continued[n];
      const name = given.optimizer;
      const { scheduler: _, ...states } = whole.state;
      expect({ name, losses: ours[n]!.losses }).toEqual({ name, losses: whole.losses });
      // Schedules of newer releases save a few more values; test/optim/schedules.test.ts compares them.
      expect({ name, ...ours[n]!.state }).toMatchObject({ name, ...states });
      expect({ name, losses: resumed.losses }).toEqual({ name, losses: whole.losses.slice(given.steps / 2) });
      expect({ name, ...resumed.state }).toMatchObject({ name, ...states });
      const run = new Run(given);
      run.load(torch.load(path.join(folder, `${name}.python.pt`)));
      run.advance(given.steps / 2);
      expect({ name, losses: run.losses }).toEqual({ name, losses: whole.losses.slice(given.steps / 2) });
      expect({ name, ...(plain(run.state()) as object) }).toMatchObject({ name, ...states });
    }
  } finally {
    torch.setNumThreads(threads);
  }
});

test('killed while it saves, a process leaves a whole checkpoint: the old one or the new one', async () => {
  const file = path.join(folder, 'latest.pt');
  // Announces each save before it begins, and never ends.
  const program = startProgram(process.execPath, [
    '-e',
    `const torch = require(${JSON.stringify(path.join(LIB, 'index.js'))});
     const big = torch.zeros([4e6]);
     for (let n = 1; ; n++) {
       console.log('saving ' + n + '.');
       torch.save({ n, first: big.fill_(n), last: big.clone() }, ${JSON.stringify(file)});
     }`,
  ]);
  try {
    await program.shows(/^saving 3\.\n/m);
    // The new file has begun to grow beside the old one.
    const partial = () => fs.readdirSync(folder).find((name) => name.endsWith('.partial'));
    while (partial() === undefined) await new Promise((resolve) => setImmediate(resolve));
  } finally {
    program.child.kill('SIGKILL');
  }
  const { signal, stdout } = await program.ended;
  expect(signal).toBe('SIGKILL');
  const begun = stdout.match(/\d+/g)!.map(Number).at(-1)!;
  const { n, first, last } = torch.load(file) as any;
  expect([begun - 1, begun]).toContain(n);
  expect([first, last].map((tensor) => [tensor.min().item(), tensor.max().item()])).toEqual([
    [n, n],
    [n, n],
  ]);
});
