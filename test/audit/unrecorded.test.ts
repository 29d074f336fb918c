/** A process of the program that is not recorded is named while it runs: the report says nothing of it. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { watchUnrecorded } from '../../cli/attach/unrecorded';
import { startProgram } from '../support/program';
import { LIB } from '../support/torch';
import { Running, testFolder } from './command';

const folder = testFolder();

test('a child that uses the library is named once', async () => {
  const program = path.join(folder, 'parent.cjs');
  fs.writeFileSync(
    program,
    `const { fork } = require('node:child_process');
    require(${JSON.stringify(LIB)});
    if (process.argv[2] === 'child') {
      process.on('disconnect', () => process.exit());
      console.log('child', process.pid);
    } else {
      fork(__filename, ['child']);
      process.on('SIGTERM', () => process.exit(0));
    }`,
  );
  const json = path.join(folder, 'report.json');
  const audit = new Running('run', '--quiet', '--json', json, '--', process.execPath, program);
  await audit.wrote(/is not recorded.*\n/);
  audit.child.kill('SIGTERM');
  const { code, stdout, stderr } = await audit.outcome;
  const [, pid] = /^child (\d+)\n/.exec(stdout)!;
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: `leak-audit: process ${pid} of the program uses the library too and is not recorded; with --follow-children all are\n`,
  });
});

test('the process that was recorded is not named, although its recording has ended', async () => {
  const program = `require(${JSON.stringify(LIB)}); console.log('loaded'); process.stdin.resume();`;
  const start = () => startProgram(process.execPath, ['-e', program], process.env, 'pipe');
  const [recorded, other] = [start(), start()];
  await Promise.all([recorded, other].map((one) => one.shows(/loaded/)));
  const found = await new Promise<number>((resolve) => watchUnrecorded(() => recorded.child.pid, resolve));
  expect(found).toBe(other.child.pid);
  for (const { child } of [recorded, other]) child.stdin!.end();
  await Promise.all([recorded.ended, other.ended]);
});
