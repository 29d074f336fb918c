/** A process of the program that is not recorded is named while it runs: the report says nothing of it. */
import * as fs from 'node:fs';
import * as path from 'node:path';
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
