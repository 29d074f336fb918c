/** libtorch-node/testing in its runners: the real node:test and the real Vitest. */
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import * as esbuild from 'esbuild';
import { run } from '../support/child';
import { ordinaryEnv } from '../support/sanitized';
import { ROOT } from '../support/torch';

jest.setTimeout(300_000);
const limitMs = 280_000;

let project: string;
beforeAll(() => {
  project = fs.realpathSync(fs.mkdtempSync(path.join(tmpdir(), 'ltn-runners-')));
  fs.mkdirSync(path.join(project, 'node_modules'));
  fs.symlinkSync(ROOT, path.join(project, 'node_modules/libtorch-node'));
  fs.writeFileSync(path.join(project, 'package.json'), '{ "name": "project", "type": "module" }');
});
afterAll(() => fs.rmSync(project, { recursive: true, force: true }));

const at = (name: string) => path.join(project, name);
/** The environment outside Jest, whose workers set variables for tests. */
const env = () =>
  Object.fromEntries(
    Object.entries({ ...ordinaryEnv(), NO_COLOR: '1' }).filter(
      ([name]) => !/^(NODE_OPTIONS|NODE_TEST_CONTEXT|JEST_|NODE_ENV|VITEST)/.test(name),
    ),
  );

test('node:test, with the line of the TypeScript source', async () => {
  fs.writeFileSync(
    at('leaks.ts'),
    `import { test } from 'node:test';
import torch from 'libtorch-node';
import { assertNoTensorLeaks } from 'libtorch-node/testing';

interface Nothing {} // gone when compiled, and with it the line numbers
interface NothingElse {}
const held: torch.Tensor[] = [];
test('clean', () => assertNoTensorLeaks(() => torch.scope(() => void torch.ones([2]))));
test('leaks', () =>
  assertNoTensorLeaks(function remember() {
    held.push(torch.ones([2, 3]));
  }, { iterations: 3, settleMs: 0 }));
`,
  );
  await esbuild.build({
    ...{ entryPoints: [at('leaks.ts')], outfile: at('leaks.test.mjs'), format: 'esm', platform: 'node' },
    ...{ sourcemap: true, minifyWhitespace: true, logLevel: 'silent' },
  });
  const { code, stdout } = await run(
    process.execPath,
    ['--preserve-symlinks', '--test', '--test-reporter=tap', at('leaks.test.mjs')],
    { env: env(), limitMs },
  );
  expect(stdout).toMatch(/^ *ok \d+ - clean$/m);
  expect(stdout).toMatch(/^ *not ok \d+ - leaks$/m);
  expect(stdout).toContain('expected no tensors to leak: 3 calls left 3 tensors and 72 bytes behind');
  expect(stdout).toContain(`made at remember (${at('leaks.ts')}:11:`);
  expect(stdout).toContain("code: 'ERR_TORCH_LEAK'");
  expect(code).toBe(1);
});

test('Vitest, the functions and the matcher', async () => {
  fs.writeFileSync(
    at('leaks.spec.ts'),
    `import torch from 'libtorch-node';
import { assertNoTensorLeaks, measureTensorLeaks, toLeakTensors } from 'libtorch-node/testing';

interface Nothing {}
interface NothingElse {}
const { expect, test } = globalThis as any;
expect.extend({ toLeakTensors });
const held: torch.Tensor[] = [];
const soon = { iterations: 3, settleMs: 0 };
const remember = () => {
  held.push(torch.ones([2, 3]));
};
test('clean', async () => {
  await assertNoTensorLeaks(() => torch.ones([2]).add(1));
  await expect(() => torch.ones([2])).not.toLeakTensors(soon);
  expect(await measureTensorLeaks(() => torch.ones([2]), soon)).toMatchObject({ leaks: false, iterations: 3, sites: [] });
});
test('asserted', () => assertNoTensorLeaks(remember, soon));
test('matched', () => expect(remember).not.toLeakTensors(soon));
`,
  );
  fs.writeFileSync(
    at('vitest.config.mjs'),
    // Vite resolves links, and would treat a linked package as source of the project.
    'export default { test: { globals: true, testTimeout: 600000, include: ["*.spec.ts"], server: { deps: { external: [/dist\\/lib/] } } } };',
  );
  const vitest = path.join(ROOT, 'node_modules/vitest/vitest.mjs');
  const { code, stdout, stderr } = await run(
    process.execPath,
    [vitest, 'run', '--root', project, '--reporter=json', '--pool=forks', '--no-cache'],
    { env: env(), limitMs },
  );
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.any(String) });
  const { testResults } = JSON.parse(stdout.slice(stdout.indexOf('{')));
  const outcomes = new Map<string, { status: string; failureMessages: string[] }>(
    testResults[0].assertionResults.map((each: { title: string }) => [each.title, each]),
  );
  expect(outcomes.get('clean')).toMatchObject({ status: 'passed', failureMessages: [] });
  for (const title of ['asserted', 'matched']) {
    const { status, failureMessages } = outcomes.get(title)!;
    expect({ title, status }).toEqual({ title, status: 'failed' });
    expect(failureMessages.join('\n')).toContain('3 calls left 3 tensors and 72 bytes behind');
    expect(failureMessages.join('\n')).toContain(`made at remember (${at('leaks.spec.ts')}:11:`);
  }
});
