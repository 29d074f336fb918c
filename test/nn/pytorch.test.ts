/** Modules against PyTorch on the same libtorch, to the bit: the inputs are those of PyTorch's own tests of its modules. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { python3 } from '../support/python3';
import { release } from '../support/release';
import { ROOT, torch, untyped } from '../support/torch';
import { clipDifferences, differences, initDifference, type Recorded } from './recorded';

/** Python's classes that are not here; docs/training.md has the reasons. */
const missing = [
  ...['Container', 'CrossMapLRN2d', 'DataParallel'],
  ...(release === '2.14' ? ['LinearCrossEntropyLoss', 'LinearCrossEntropyOptions'] : []),
];
/** How many classes torch.nn has in Python, and the release that this was counted in. */
const CLASSES: Readonly<Record<string, number>> = { '1.13': 158, '2.6': 166, '2.14': 168 };

/** Modules whose results differ from Python's, by release of libtorch: none. */
const known: readonly string[] = [];

let recorded: Recorded;
let tensors: unknown[];
const differing = new Set<string>();

beforeAll(async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'nn-'));
  try {
    const args = [path.join(ROOT, 'test/nn/oracle.py'), folder];
    const { code, stderr } = await python3(args);
    if (code !== 0) throw new Error(`oracle.py: ${stderr}`);
    recorded = JSON.parse(fs.readFileSync(path.join(folder, 'cases.json'), 'utf8'));
    tensors = (await untyped.load(path.join(folder, 'tensors.pt'))) as unknown[];
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}, 300_000);
afterAll(() => untyped.disposeAll(tensors));

/** Where PyTorch's own convolutions give what was in memory before, their elements are not compared. */
const isMeaningless = (one: Recorded['cases'][number], text: string): boolean =>
  !recorded.convolves && one.name.includes('Conv') && /: (result|gradient) \d+: other values/.test(text);

/** What differs, or the error of a constructor or call that is refused here. */
function textsOf(one: Recorded['cases'][number]): string[] {
  try {
    return differences(one, tensors).filter((text) => !isMeaningless(one, text));
  } catch (error) {
    return [`${one.name}: ${error}`];
  }
}

/** Runs the recorded calls of a table, and gives what differs. */
function wrongOf(source: string): { wrong: string[]; count: number } {
  const threads = torch.getNumThreads();
  torch.setNumThreads(1);
  try {
    const cases = recorded.cases.filter((one) => one.source === source && !missing.includes(one.name));
    const called = cases.filter((one) => one.left === undefined);
    const here = called.filter(({ name }) => name in torch.nn);
    const wrong = here.map((one) => ({ name: one.name, texts: textsOf(one) }));
    for (const { name, texts } of wrong) if (texts.length > 0) differing.add(name);
    for (const { name } of called) if (!(name in torch.nn)) differing.add(name);
    return {
      wrong: wrong.filter(({ name }) => !known.includes(name)).flatMap(({ texts }) => texts),
      count: called.length,
    };
  } finally {
    torch.setNumThreads(threads);
  }
}

test('convolutions of PyTorch are right on this machine, or it is Debian 13', () => {
  if (release !== '2.6') expect(recorded.convolves).toBe(true);
  else process.stdout.write(`convolutions compared: ${recorded.convolves}\n`);
  expect(recorded.cases.filter(({ name }) => name.includes('Conv')).length).toBeGreaterThan(20);
});

test('all of module_db: initial weights, results, gradients, buffers, state dict and text', () => {
  const { wrong, count } = wrongOf('module_db');
  expect(wrong).toEqual([]);
  expect(count).toBeGreaterThan(350);
  const left = recorded.cases.filter((one) => one.source === 'module_db' && one.left !== undefined);
  expect(left.filter(({ name }) => !missing.includes(name))).toEqual([]);
});

test('at least 95 % of the modules of common_nn', () => {
  const { wrong, count } = wrongOf('common_nn');
  expect(wrong).toEqual([]);
  const all = recorded.cases.filter((one) => one.source === 'common_nn').length;
  expect(count / all).toBeGreaterThan(0.95);
});

test('the fused attention of evaluation without gradients', () => {
  expect(wrongOf('fused')).toEqual({ wrong: [], count: 4 });
});

test('masks of attention, with gradients and without', () => {
  expect(wrongOf('masked')).toEqual({ wrong: [], count: 35 });
});

test('the modules that differ on this release are those that are named', () => {
  expect([...differing].sort()).toEqual(known);
});

test('torch.nn.init draws the same numbers', () => {
  const wrong = recorded.inits.map((one) => initDifference(one, tensors)).filter((text) => text !== undefined);
  expect(wrong).toEqual([]);
});

test('torch.nn.utils clips gradients to the same values', () => {
  expect(recorded.clips.flatMap((one) => clipDifferences(one, tensors))).toEqual([]);
  torch.scope(() => {
    const net = new torch.nn.Linear(2, 3);
    const vector = torch.nn.utils.parametersToVector(net.parameters());
    expect(vector.shape).toEqual([9]);
    torch.nn.utils.vectorToParameters(torch.arange(9).float(), net.parameters());
    expect([net.weight.toArray(), net.bias!.toArray()]).toEqual([
      [
        [0, 1],
        [2, 3],
        [4, 5],
      ],
      [6, 7, 8],
    ]);
    net.dispose();
  });
});

test('each class of torch.nn is here, or has its reason', () => {
  const absent = recorded.classes.filter((name) => !(name in torch.nn));
  const page = fs.readFileSync(path.join(ROOT, 'docs/training.md'), 'utf8');
  expect(absent.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  expect(absent).toEqual(missing);
  expect(recorded.classes).toHaveLength(CLASSES[release] ?? recorded.classes.length);
});

test('classes have resetParameters where Python has it', () => {
  const lacks = (name: string) => name in torch.nn && !('resetParameters' in untyped.nn[name].prototype);
  expect(recorded.resets.filter(lacks)).toEqual([]);
  expect(recorded.resets.length).toBeGreaterThan(40);
});
