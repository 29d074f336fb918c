/** A machine without /proc, as in some sandboxes: Node cannot read the size of the process there. */
import { spawnSync } from 'node:child_process';
import { run } from '../support/child';
import { LIB } from '../support/torch';

const HIDE = 'umount -l /proc';
const canHide = spawnSync('unshare', ['-m', 'sh', '-c', HIDE]).status === 0;

(canHide ? test : test.skip)('the library loads, and tensors work', async () => {
  const program = `const torch = require(${JSON.stringify(LIB)}); console.log(torch.ones([2, 3]).sum().item());`;
  const script = `${HIDE}; exec "$0" -e "$1"`;
  const { code, stdout } = await run('unshare', ['-m', 'sh', '-c', script, process.execPath, program]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: '6\n' });
});
