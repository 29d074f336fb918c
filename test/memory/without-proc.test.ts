/**
 * A machine without /proc, as in some sandboxes, and a program that closed its standard streams: `process.memoryUsage` throws in
 * the one, and aborts in the other.
 */
import { spawnSync } from 'node:child_process';
import * as path from 'node:path';
import { readCapture } from '../../cli/capture/reader';
import { CLI, testFolder } from '../audit/command';
import { run } from '../support/child';
import { LIB } from '../support/torch';

const HIDE = 'umount -l /proc';
const canHide = spawnSync('unshare', ['-m', 'sh', '-c', HIDE]).status === 0;

const program = `const torch = require(${JSON.stringify(LIB)}); console.log(torch.ones([2, 3]).sum().item());`;
/** UCX, which the libtorch of some releases of Debian loads, writes an error of its own to stdout there. */
const ended = { code: 0, stdout: expect.stringMatching(/^(.*UCX +ERROR.*\n)*6\n$/) };

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

test('doctor finds no problem there', async () => {
  const script = `${canHide ? HIDE : ':'}; exec "$0" "$1" doctor --json`;
  const line = ['sh', '-c', script, process.execPath, path.join(path.dirname(CLI), 'libtorch-node.js')];
  const [command, ...args] = canHide ? ['unshare', '-m', ...line] : line;
  const { stdout } = await run(command!, args);
  expect(JSON.parse(stdout)).toMatchObject({
    verdict: 'healthy',
    findings: { probe: { memory: { rss: canHide ? null : expect.any(Number) }, collector: { alive: 0 } } },
  });
});

const folder = testFolder();
const CLOSE_ALL = `const fs = require('node:fs'); for (const fd of [0, 1, 2]) fs.closeSync(fd);`;

test('a program without standard streams loads the library, and is recorded', async () => {
  const file = path.join(folder, 'closed.ltna');
  const work = `const kept = torch.ones([1024, 1024]); setTimeout(() => process.exit(kept.sum().item() === 1048576 ? 0 : 9), 300);`;
  const closed = `${CLOSE_ALL} const torch = require(${JSON.stringify(LIB)}); ${work}`;
  const audit = [CLI, 'run', '--quiet', '--interval', '100ms', '-o', file];
  expect(await run(process.execPath, [...audit, '--', process.execPath, '-e', closed])).toMatchObject({ code: 0 });
  const { ticks } = readCapture(file);
  expect(ticks.at(-1)!.heapUsed).toBeGreaterThan(1e6);
  expect(ticks.at(-1)!.external).toBeGreaterThan(4 * 1024 * 1024); // with the tensor's bytes
});
