/** Both programs, and a recorded program, under Node's permission model: what is denied is named. */
import * as path from 'node:path';
import { run } from '../support/child';
import { ordinaryEnv } from '../support/sanitized';
import { CLI, fixture, leakAudit, ROOT } from './command';

const DOCTOR = path.join(ROOT, 'dist/cli/libtorch-node.js');
const MODEL = process.allowedNodeEnvironmentFlags.has('--permission') ? '--permission' : '--experimental-permission';
const RULES = [MODEL, '--allow-fs-read=*', '--allow-addons'];

/** Without the warnings of Node about the flags themselves. */
async function restricted(...command: string[]) {
  const { code, stdout, stderr } = await run(process.execPath, ['--no-warnings', ...RULES, ...command], {
    env: ordinaryEnv(),
  });
  return { code, stdout, stderr };
}

test('doctor may not start a process', async () => {
  const { code, stdout, stderr } = await restricted(DOCTOR, 'doctor');
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(
    /^libtorch-node: Node's permission model denies ChildProcess[^\n]*: run the command without --permission, or with the permission\n$/,
  );
});

test('run may not write a capture', async () => {
  const { code, stdout, stderr } = await restricted(CLI, 'run', '--', 'true');
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(
    /^leak-audit: cannot create a folder in [^\n]*: Node's permission model denies it \(ERR_ACCESS_DENIED\)\. Name another folder with TMPDIR\n$/,
  );
});

test('a recorded program may not write its heap', async () => {
  const program = [process.execPath, '--no-warnings', ...RULES, fixture('leaky.cjs'), '5'];
  const { stderr } = await leakAudit('run', '--why', '--', ...program);
  expect(stderr).toContain(
    '--why: the program wrote no heap snapshot: it was ended by a signal or process.abort, it outlived the program that was run, its main thread never loaded libtorch-node, the disk is full, or --permission denies it to write files\n',
  );
});
