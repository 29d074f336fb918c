/** Optimizers against PyTorch on the same libtorch: parameters and states to the bit, files both ways, refusals. */
import { mkdtempSync, rmSync } from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { torch, untyped } from '../support/torch';
import { type Input, inputs, refused } from './inputs';
import { optionsOf, oracle, plain } from './oracle';
import { advance, make, STEPS, start } from './runs';

jest.setTimeout(300_000);

const isNew = !torch.libtorchVersion.startsWith('1.');
const cases = inputs
  .filter(({ since }) => isNew || since === undefined)
  // Some of each optimizer are continued from a file of the other side too.
  .map((input, n) => ({ ...input, resumes: n % 3 === 0 }));

test('parameters and states are Python’s after 100 steps, and files of either side resume the other’s run', async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'optim-'));
  const threads = torch.getNumThreads();
  torch.setNumThreads(1);
  try {
    const half = STEPS / 2;
    const ours = cases.map((input, n) => {
      const params = start(input);
      const optimizer = make(input, params);
      advance(input, params, optimizer, 0, half);
      const now = params.map((param) => param.detach());
      if (input.resumes) torch.save({ params: now, optimizer: optimizer.stateDict() }, path.join(folder, `${n}.js.pt`));
      advance(input, params, optimizer, half, STEPS);
      return { params: plain(params), dict: plain(optimizer.stateDict()) };
    });
    const optimizers = [...new Set(cases.map(({ name }) => name))];
    const answer = await oracle({ folder, optimize: cases, refuse: refused, defaults: optimizers });
    const wrong: string[] = [];
    const same = (what: string, input: Input, got: unknown, expected: unknown) => {
      const { name, ...more } = input;
      try {
        expect(got).toEqual(expected);
      } catch {
        wrong.push(`${name} ${JSON.stringify(more)}: ${what}`); // all of them are of interest, not only the first
      }
    };
    for (const [n, input] of cases.entries()) {
      const { resumed, ...theirs } = answer.optimized[n];
      same('parameters', input, ours[n]!.params, theirs.params);
      same('state', input, (ours[n]!.dict as any).state, theirs.dict.state);
      same('groups', input, (ours[n]!.dict as any).param_groups, theirs.dict.param_groups);
      if (!input.resumes) continue;
      same('resumed by Python', input, resumed, theirs.params);
      const saved = torch.load(path.join(folder, `${n}.python.pt`)) as any;
      const params = saved.params.map((param: any) => param.clone().requiresGrad_());
      const optimizer = make(input, params);
      optimizer.loadStateDict(saved.optimizer);
      advance(input, params, optimizer, half, STEPS);
      same('resumed here', input, plain(params), theirs.params);
    }
    expect(wrong).toEqual([]);
    expect(answer.refused.filter((is: boolean) => !is)).toEqual([]);
    for (const name of optimizers) {
      const { defaults } = make({ name, options: { lr: 0.1 } }, start({ name, options: {} }));
      const expected = optionsOf(answer.defaults[name]);
      expect({ name, ...defaults }).toEqual({ name, ...expected });
      // The order of the state dict.
      expect(Object.keys(defaults)).toEqual(Object.keys(expected));
    }
  } finally {
    torch.setNumThreads(threads);
    rmSync(folder, { recursive: true });
  }
});

test('what Python refuses is refused with a code', () => {
  for (const [name, options] of refused) {
    const parameter = torch.zeros([2], { requiresGrad: true });
    let code: unknown = 'none';
    try {
      new untyped.optim[name]([parameter], optionsOf(options));
    } catch (error) {
      code = (error as { code?: unknown }).code;
    }
    expect({ name, options, code }).toEqual({ name, options, code: 'ERR_TORCH_ARGUMENT' });
  }
});
