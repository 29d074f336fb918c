/**
 * Hostile calls in child processes, from a seed, and every stored one: none ends the process, comes back without a code, leaves a
 * tensor or takes more than its time. `npm run fuzz` makes more of them (docs/reliability.md).
 */
import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { release } from '../support/release';
import { LIB } from '../support/torch';

interface Finding {
  kind: string;
  plan: { target: string };
  detail: string;
}
interface Told {
  end: string;
  results: number;
  errors: number;
  signal: string;
  stderr: string;
  plan?: object;
  findings: Finding[];
}
const { campaign } = require('./campaign.cjs') as {
  campaign(
    lib: string,
    options: {
      seed: number;
      sweep?: string;
      only?: string;
      calls: number;
      skip: string[];
      confirm: boolean;
      shrink: boolean;
    },
  ): Promise<{ findings: Finding[]; unsure: Finding[]; figures: Record<string, number> }>;
};
const { runChild } = require('./run.cjs') as {
  runChild(lib: string, options: object, limits?: { seconds: number }): Promise<Told>;
};
const { reportsOf } = require('./memcheck.cjs') as { reportsOf(stderr: string): Finding[] };

/** Processor time of a call that is meant to stay. */
const LIMITS = { seconds: 3 };
const SEED = 20_261;
/** Where two platforms run the suite (LTN_FIRST), time is short. */
const CALLS = process.env.LTN_FIRST === '1' ? 25_000 : 50_000;
/** What is not fixed yet, with its reason. */
const known = JSON.parse(readFileSync(path.join(__dirname, 'known.json'), 'utf8')) as {
  kind: string;
  target: string;
}[];
const isKnown = ({ kind, plan }: Finding) =>
  known.some((one) => one.kind === kind && new RegExp(one.target, 'i').test(plan.target));
const stored = JSON.parse(readFileSync(path.join(__dirname, 'seeds.json'), 'utf8')) as { plans: object[] }[];

test(`${CALLS} calls of seed ${SEED}`, async () => {
  // Those are not called: some damage the heap, which ends a later call.
  const skip = known.filter(({ kind }) => kind === 'crash').map(({ target }) => target);
  const options = { seed: SEED, calls: CALLS, skip, confirm: true, shrink: false };
  const { findings, unsure, figures } = await campaign(LIB, options);
  expect(findings.filter((finding) => !isKnown(finding))).toEqual([]);
  if (unsure.length > 0) console.warn(`ended one child and not another: ${JSON.stringify(unsure)}`);
  // Targets that a call breaks for good would all be errors.
  expect(figures.results).toBeGreaterThan(CALLS / 10);
  expect(figures.errors).toBeGreaterThan(CALLS / 10);
}, 580_000);

test(`every stored call, with libtorch ${release}`, async () => {
  const { end, signal, stderr, plan, findings } = await runChild(LIB, { plans: stored.flatMap(({ plans }) => plans) });
  expect({ end, signal, stderr, findings, plan: end === 'done' ? null : plan }).toEqual({
    end: 'done',
    signal: 'exit status 0',
    stderr: '',
    findings: [],
    plan: null,
  });
}, 300_000);

test('a call that ends the process, one without a code, one that leaves a tensor and one that stays are found', async () => {
  const planted = ['abort', 'no code', 'leave', 'stay'].map((target) => ({ target: `planted.${target}`, args: [] }));
  const ends = await Promise.all(
    planted.map((plan) =>
      runChild(LIB, { plans: [{ target: 'aten.relu.default', args: [1] }, plan], planted: true }, LIMITS),
    ),
  );
  expect(ends.map(({ end, findings }) => [end, ...findings.map(({ kind }) => kind)])).toEqual([
    ['crash'],
    ['done', 'no code'],
    ['done', 'left'],
    ['slow'],
  ]);
  expect(ends.map(({ plan }, i) => plan ?? planted[i])).toEqual([planted[0], ...[planted[1], planted[2]], planted[3]]);
}, 120_000);

test('files that are not damaged are read, also when their checksums were made again', async () => {
  const formats = Object.entries({
    'torch.load': 'pt',
    'torch.load of bytes': 'pt',
    'npy.load': 'npy',
    'npz.load': 'npz',
    'safetensors.load': 'safetensors',
    'jit.load': 'model',
    'leak-audit report': 'capture',
    'leak-audit repair': 'capture',
    attach: 'request',
  });
  const sealed = ['pt', 'npz', 'model', 'capture'];
  const plans = formats.flatMap(([target, damaged]) =>
    (sealed.includes(damaged) ? [{}, { entry: 1 }] : [{}]).map((entry) => ({
      target: `files.${target}`,
      args: [{ damaged, edits: [], ...entry }],
    })),
  );
  const { end, results, errors, findings, stderr } = await runChild(LIB, { plans });
  expect({ end, results, errors, findings, stderr }).toEqual({
    end: 'done',
    results: plans.length,
    errors: 0,
    findings: [],
    stderr: '',
  });
}, 300_000);

test.each([
  ['aliases', { tensor: [0, 0], dtype: 'float32' }, 'S', { same: 0 }],
  ['forms', { tensor: [0, 0], dtype: 'float32', form: 'expanded' }, 'S', undefined],
  ['sizes', { tensor: [0, 1], dtype: 'float32' }, 'S', undefined],
])(
  'a sweep of %s: the samples of svd, each with one change',
  async (sweep, given, name, result) => {
    const only = '^functions torch\\.svd$';
    const { findings, figures } = await campaign(LIB, {
      seed: 0,
      sweep,
      only,
      calls: 100,
      skip: [],
      confirm: true,
      shrink: false,
    });
    expect(findings).toEqual([]);
    expect(figures.results! + figures.errors!).toBe(100);
    const shown = await runChild(LIB, { sweep, only, show: Array.from({ length: 100 }, (_, i) => i) });
    const plans = shown.findings as unknown as { target: string; args: object[]; options?: Record<string, object> }[];
    expect(plans.map(({ target }) => target)).toEqual(Array(100).fill('torch.svd'));
    expect(plans.some(({ args, options }) => isDeepStrictEqual([args[0], options?.[name]], [given, result]))).toBe(
      true,
    );
  },
  120_000,
);

test('a report of memcheck is laid to the call before it, and those of the linker are left out', () => {
  const block = (function_: string) =>
    ['Invalid read of size 8', `   at 0x1: ${function_} (in lib.so)`, ''].map((line) => `==7== ${line}`).join('\n');
  const plan = { target: 'aten.take.default', args: [] };
  const text = [block('_dl_map'), `call ${JSON.stringify(plan)}`, block('at::take'), block('_dl_map'), ''].join('\n');
  expect(reportsOf(text)).toEqual([{ kind: 'Invalid read of size 8', plan, detail: 'at::take (in lib.so)' }]);
});
