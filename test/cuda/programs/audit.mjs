/** leak-audit on a program that keeps tensors on the device: the line, and their bytes. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { check, runAll } from './checks.mjs';

const audit = path.join(createRequire(import.meta.url).resolve('libtorch-node'), '../../cli/leak-audit.js');
const program = path.join(import.meta.dirname, 'leak.cjs');

for (const [title, args, status] of [
  ['a leak is found, with its line', ['leak'], 1],
  ['a program that frees its tensors is clean', [], 0],
]) {
  check(title, () => {
    const options = ['run', '--quiet', '--check', '--json', '-', '--interval', '100ms', '--', process.execPath];
    const ran = spawnSync(process.execPath, [audit, ...options, program, ...args], {
      encoding: 'utf8',
      timeout: 60_000,
    });
    assert.equal(ran.status, status, ran.stderr);
    const report = JSON.parse(ran.stdout);
    if (status === 0) return;
    const [site] = report.sites.filter(({ verdict }) => verdict === 'leak');
    assert.match(JSON.stringify(site), /leak\.cjs/);
    assert.match(JSON.stringify(report), /cuda:0/);
  });
}

await runAll('audit');
