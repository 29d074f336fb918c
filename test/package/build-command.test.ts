/** Messages name the command that builds the addon where they are printed: an installed package has no `npm run build`. */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { ROOT } from '../support/torch';

const RULE = 'lib/libtorch/bindings.js';
const { buildCommand } = require('../../lib/libtorch/bindings') as typeof import('../../lib/libtorch/bindings');

test('the command of a checkout and that of a package', () => {
  expect(buildCommand()).toBe('`npm run build` in the folder of libtorch-node');
  expect(buildCommand({ checkout: false })).toBe('`npx libtorch-node build`');
  expect(buildCommand({ checkout: false, force: true })).toBe('`npx libtorch-node build --force`');
});

test('no other file of the package writes the command of a checkout', () => {
  const files = execFileSync('git', ['ls-files', 'lib', 'cli', 'native'], { cwd: ROOT, encoding: 'utf8' }).split('\n');
  const writing = files.filter(
    (file) => file !== '' && fs.readFileSync(path.join(ROOT, file), 'utf8').includes('npm run build'),
  );
  expect(writing).toEqual([RULE]);
});
