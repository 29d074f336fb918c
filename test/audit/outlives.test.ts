/** A recorded process that still runs when the program has ended: a daemon. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { LIB } from '../support/torch';
import { auditProgram, testFolder } from './command';

const folder = testFolder();

test.each([
  ['with -o', ['-o', path.join(folder, 'c.ltna')], 'the capture goes on until the process ends'],
  ['without -o', [], 'use attach for what it does later, or run it in the foreground'],
])('%s: it is named, since the report ends before it', async (_name, options, advice) => {
  const own = fs.mkdtempSync(path.join(folder, 'daemon-'));
  const ready = path.join(own, 'ready');
  const daemon = `const torch = require(${JSON.stringify(LIB)});
    const kept = torch.ones([2]);
    require('node:fs').writeFileSync(${JSON.stringify(ready)}, String(process.pid));
    setInterval(() => require('node:fs').existsSync(${JSON.stringify(ready)}) || process.exit(), 20);`;
  fs.writeFileSync(path.join(own, 'daemon.cjs'), daemon);
  const script = `"$0" "$1" >/dev/null 2>&1 & until [ -s "$2" ]; do sleep 0.02; done`;
  const { code, stdout, stderr } = await auditProgram(
    ...['run', '--quiet', ...options, '--', 'sh', '-c', script],
    ...[process.execPath, path.join(own, 'daemon.cjs'), ready],
  );
  const pid = Number(fs.readFileSync(ready, 'utf8'));
  fs.rmSync(ready); // it ends then
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: `leak-audit: process ${pid}, which is recorded, still runs, and the program has ended: the report ends here; ${advice}\n`,
  });
  expect(stdout.replace(/\s+/g, ' ')).toContain('the program was killed, or still runs');
});
