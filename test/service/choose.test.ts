/** The choice between the scripted and the optimised model: by times, which these tests give, and by their outputs. */
import { choose, type Measure } from '../../examples/service/choose';
import { settled, torch } from '../support/torch';
import { LIMIT_MS, makeModels } from './support';

let models: Awaited<ReturnType<typeof makeModels>>;

beforeAll(async () => {
  models = await makeModels();
}, LIMIT_MS);
afterAll(() => models.remove());

/** Milliseconds of the optimised model for each size of batch, where the scripted one takes 10. */
const took =
  (of: Record<number, number>): Measure =>
  (_models, images) => [10, of[images.shape[0]!]!];

/** What was chosen for a model, and how far the optimised one is from the scripted one; all is freed. */
async function chosen(name: string, measure?: Measure) {
  const before = settled();
  const scripted = torch.keep(torch.jit.load(models.pathOf(name)));
  scripted.eval();
  const { optimised, from, why, onLoop } = await choose(scripted, { measure });
  const differs =
    optimised === undefined
      ? null
      : torch.scope(() => {
          const images = torch.rand([5, 1, 28, 28]);
          const [a, b] = [scripted, optimised].map((model) => torch.inferenceMode(() => model.forward(images)));
          return a.sub(b).abs().max().item() as number;
        });
  optimised?.dispose();
  scripted.dispose();
  expect(settled()).toEqual(before);
  return { from, why, onLoop, differs };
}

/** Of libtorch 1.x: with later ones no optimised model is tried. */
const is1 = torch.libtorchVersion.startsWith('1.');
const absent = (_name: string, _test: () => unknown): void => {};
const withChoice = is1 ? test : absent;
const withoutChoice = is1 ? absent : test;

const CASES: [string, Record<number, number>, number, string][] = [
  ['from the size on at which it is faster', { 1: 12, 8: 5, 32: 2 }, 8, '8 in 5.00 ms instead of 10.00, 32 in 2.00 ms'],
  ['for every size', { 1: 1, 8: 1, 32: 1 }, 1, '1 in 1.00 ms instead of 10.00, 8 in'],
  ['for large batches alone', { 1: 1, 8: 9.5, 32: 2 }, 32, '(32 in 2.00 ms instead of 10.00)'],
];
for (const [title, times, from, text] of CASES) {
  withChoice(`takes the optimised model ${title}`, async () => {
    const choice = await chosen('convolutions', took(times));
    expect(choice).toMatchObject({ from, why: expect.stringContaining(`optimised for batches of ${from} or more`) });
    expect(choice.why).toContain(text);
    expect(choice.differs).toBeLessThan(1e-4);
  });
}

withChoice('keeps the scripted model if the optimised one is not faster', async () => {
  expect(await chosen('convolutions', took({ 1: 1, 8: 1, 32: 9.5 }))).toEqual({
    from: Number.POSITIVE_INFINITY,
    why: 'as scripted, because the optimised model is not faster',
    onLoop: 0,
    differs: null,
  });
});

withChoice('refuses an optimised model whose outputs differ', async () => {
  const { from, why, differs } = await chosen('random', took({ 1: 1, 8: 1, 32: 1 }));
  expect([from, differs]).toEqual([Number.POSITIVE_INFINITY, null]);
  expect(why).toMatch(/^as scripted; the optimised model is refused: its outputs differ by 0\.\d+, more than 0\.0001$/);
});

withChoice('measures by itself', async () => {
  expect((await chosen('convolutions')).why).toMatch(
    /^(optimised for batches of (1|8|32) or more|as scripted, because)/,
  );
});

withoutChoice('tries no optimised model with a later libtorch', async () => {
  expect(await chosen('convolutions', took({ 1: 1, 8: 1, 32: 1 }))).toEqual({
    from: Number.POSITIVE_INFINITY,
    why: `as scripted; with libtorch ${torch.libtorchVersion} an optimised model is not tried`,
    onLoop: 0,
    differs: null,
  });
});

/** A batch takes so many milliseconds with any model. */
const taking =
  (ms: number): Measure =>
  (of) =>
    of.map(() => ms);

test.each([
  ['a model that takes less than two milliseconds', 'convolutions', 0.25, 32],
  ['a model that takes longer', 'convolutions', 2.01, 0],
  ['a model with a loop, which may take longer for other images', 'obedient', 0.25, 0],
])('%s', async (_title, name, ms, onLoop) => {
  const choice = await chosen(name, taking(ms));
  expect(choice.onLoop).toBe(onLoop);
  expect(choice.why.endsWith(', on the event loop (32 in 0.25 ms)')).toBe(onLoop > 0);
});

test('a model that does not take so many images stays off the event loop', async () => {
  const failing: Measure = () => {
    throw new Error('expected one image');
  };
  expect((await chosen('convolutions', failing)).onLoop).toBe(0);
});

test('--off-loop is not measured', async () => {
  const scripted = torch.keep(torch.jit.load(models.pathOf('convolutions')));
  const { optimised, onLoop } = await choose(scripted.eval(), { measure: taking(0.25), offLoop: true });
  expect(onLoop).toBe(0);
  optimised?.dispose();
  scripted.dispose();
});
