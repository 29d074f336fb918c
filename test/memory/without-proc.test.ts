/** A machine without /proc, as in some sandboxes: Node cannot read the size of the process there. */
import { spawnSync } from 'node:child_process';
import { run } from '../support/child';
import { LIB } from '../support/torch';

const HIDE = 'umount -l /proc';
const canHide = spawnSync('unshare', ['-m', 'sh', '-c', HIDE]).status === 0;

const program = `const torch = require(${JSON.stringify(LIB)}); console.log(torch.ones([2, 3]).sum().item());`;
const ended = { code: 0, stdout: '6\n' };

test('the library loads, and tensors work, where Node cannot tell', async () => {
  const refusal = `process.memoryUsage = () => { throw Object.assign(new Error('no /proc'), { code: 'ENOENT' }); };`;
  expect(await run(process.execPath, ['-e', refusal + program])).toMatchObject(ended);
});

test('the same without /proc (where unmounting is allowed)', async () => {
  const script = `${canHide ? HIDE : ':'}; exec "$0" -e "$1"`;
  const line = ['sh', '-c', script, process.execPath, program];
  const [command, ...args] = canHide ? ['unshare', '-m', ...line] : line;
  expect(await run(command!, args)).toMatchObject(ended);
});
