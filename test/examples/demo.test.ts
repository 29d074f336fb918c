/** The demo from its first line to its last, shortened. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT, run, start } from './programs';

test('it ends with both verdicts, and the leak has its line', async () => {
  const { code, stdout, stderr } = await run('demo.js', ['--seconds', '6', '--rate', '200']);
  expect(stderr).toMatch(/time +tensors +storages/);
  expect(stdout).not.toContain('\x1b');
  const [leaky, fixed] = stdout.trimEnd().split('\n').slice(-2) as [string, string];
  const found =
    /^ {2}leaky {2}LEAK {3}(examples\/digits\/cache\.ts):(\d+):\d+ leaks [\d.]+ MiB \([\d,]+ tensors\) per minute/.exec(
      leaky,
    );
  expect(found).not.toBeNull();
  const source = fs.readFileSync(path.join(ROOT, found![1]!), 'utf8').split('\n');
  expect(source[Number(found![2]) - 1]).toContain('image = torch.keep(torch.tensor(pixels))');
  expect(fixed).toMatch(/^ {2}fixed {2}CLEAN {2}/);
  expect(code).toBe(0);
}, 240_000);

test('interrupted, it ends its service and removes its files', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'digits-interrupted-'));
  const demo = start('demo.js', ['--seconds', '30'], { TMPDIR: folder });
  try {
    await demo.shows(/under leak-audit/);
    // leak-audit has its folder too, once it runs.
    while (fs.readdirSync(folder).length < 2) await sleep(100);
    demo.child.kill('SIGINT');
    const { code, stderr } = await demo.ended; // its pipes are closed, so all its processes have ended
    expect(code).toBe(130);
    expect(stderr).not.toMatch(/Error|demo:/);
    expect(fs.readdirSync(folder)).toEqual([]);
  } finally {
    demo.child.kill('SIGTERM');
    await demo.ended;
    fs.rmSync(folder, { recursive: true, force: true });
  }
});
