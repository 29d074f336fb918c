/** `npm run audit`: the advisories that block a release. A fake npm answers like a registry. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { run } from '../support/child';
import { ROOT } from '../support/torch';

const bin = fs.mkdtempSync(path.join(os.tmpdir(), 'libtorch-node-audit-'));
afterAll(() => fs.rmSync(bin, { recursive: true, force: true }));

/** Runs it with an npm that always gives this answer. */
function audit(answer: string, status = 0) {
  fs.writeFileSync(path.join(bin, 'answer'), answer);
  fs.writeFileSync(path.join(bin, 'npm'), `#!/bin/sh\ncat ${bin}/answer\nexit ${status}\n`, { mode: 0o755 });
  const env = { ...process.env, PATH: `${bin}${path.delimiter}${process.env.PATH}` };
  return run(process.execPath, [path.join(ROOT, 'scripts/audit.mjs')], { env });
}
const entry = (name: string, severity: string, nodes = [`node_modules/${name}`]) => ({
  [name]: { name, severity, nodes, via: [{ title: `a fault of ${name}`, url: 'https://example.test/1' }] },
});
const report = (...entries: object[]) => JSON.stringify({ vulnerabilities: Object.assign({}, ...entries) });

it('passes without advisories', async () => {
  const { code, stdout } = await audit(report());
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^\d+ packages, 0 with advisories/) });
});

it('refuses any advisory on a runtime dependency', async () => {
  const { code, stdout, stderr } = await audit(report(entry('commander', 'low')), 1);
  expect({ code, stderr }).toEqual({ code: 1, stderr: '\nThese advisories block a release: commander.\n' });
  expect(stdout).toBe('low: commander, comes with the package\n  a fault of commander (https://example.test/1)\n');
});

it('refuses high and critical advisories on tools, and prints the others', async () => {
  const one = await audit(report(entry('esbuild', 'moderate'), entry('jest', 'high')), 1);
  expect({ code: one.code, stderr: one.stderr }).toEqual({
    code: 1,
    stderr: '\nThese advisories block a release: jest.\n',
  });
  const other = await audit(report(entry('esbuild', 'moderate')), 1);
  expect({ code: other.code, stdout: other.stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^moderate: esbuild, a tool\n/),
  });
});

it('a package that is both, or that is not in the lock file, counts as a runtime dependency', async () => {
  const both = ['node_modules/picocolors', 'node_modules/jest'];
  expect((await audit(report(entry('picocolors', 'low', both)), 1)).code).toBe(1);
  expect((await audit(report(entry('unheard-of', 'low')), 1)).code).toBe(1);
});

it.each([
  ['a refusal', '{ "message": "405 Method Not Allowed" }', '405 Method Not Allowed'],
  ['nothing', '', 'nothing'],
  ['text that is not JSON', '<html>', 'nothing'],
])('fails if the registry answers %s', async (_what, answer, told) => {
  const { code, stderr } = await audit(answer, 1);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `\nexpected advisories from the registry, got: ${told}\nThe audit has no result.\n`,
  });
});
