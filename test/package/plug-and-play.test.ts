/**
 * A project without node_modules, as yarn's Plug'n'Play: Node finds packages by the hooks of a file that NODE_OPTIONS preloads.
 * Here such a file finds them in a folder of another name.
 */

import * as fs from 'node:fs';
import * as path from 'node:path';
import { run } from '../support/child';
import { limitMs } from '../support/sanitized';
import { install, project, write } from './installed';
import { outsideNpm } from './tarball';

jest.setTimeout(limitMs(120_000));

const HOOKS = `
  const Module = require('node:module');
  Module._nodeModulePaths = () => [require('node:path').join(__dirname, 'packages')];
  Module.findPnpApi = () => ({ resolveToUnqualified: (name) => (name === 'pnpapi' ? __filename : null) });
`;
const PROGRAM = `
  const torch = require('libtorch-node');
  const { assertNoTensorLeaks } = require('libtorch-node/testing');
  const images = [];
  assertNoTensorLeaks(() => images.push(torch.ones([2])), { iterations: 8, warmup: 1, settleMs: 0 }).catch((error) => {
    console.log(error.message);
    require('node:v8').writeHeapSnapshot('app.heapsnapshot');
  });
`;

it('failures of assertNoTensorLeaks and leak-audit why say who holds the tensors', async () => {
  await install();
  fs.renameSync(path.join(project, 'node_modules'), path.join(project, 'packages'));
  const hooks = path.join(project, write('.pnp.cjs', HOOKS));
  write('app.cjs', PROGRAM);
  const node = (...args: string[]) =>
    run('sh', ['-c', 'cd "$0" && exec "$@"', project, process.execPath, ...args], {
      env: { ...outsideNpm(), NODE_OPTIONS: `--require ${hooks}` },
    });
  expect(await node('app.cjs')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('held by images (module app.cjs) → 9 × Tensor: 9 tensors'),
    stderr: '',
  });
  expect(await node('packages/libtorch-node/dist/cli/leak-audit.js', 'why', 'app.heapsnapshot')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('images (module app.cjs) → 9 × Tensor'),
    stderr: '',
  });
});
