/** `run --why --follow-children`: what holds the tensors of child processes when they end. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { limitMs } from '../support/sanitized';
import { LIB } from '../support/torch';
import { auditProgram, leakAudit, ROOT, testFolder } from './command';

jest.setTimeout(limitMs(120_000));
const folder = testFolder();

/** The first process has 3 tensors in a module's variable; each child process has one with as many as its argument says. */
const PROGRAM = `
const { fork } = require('node:child_process');
const torch = require(${JSON.stringify(ROOT)});
const kept = [];
const keep = (count, elements) => { for (let i = 0; i < count; i++) kept.push(torch.ones([elements])); };
const [list, count] = process.argv.slice(2);
if (count === undefined) {
  keep(3, 100);
  const next = (counts) => {
    if (counts.length === 0) process.exit(0);
    fork(__filename, ['', counts[0]]).once('exit', () => next(counts.slice(1)));
  };
  next(list.split(' '));
} else {
  keep(Number(count), 200);
  process.exit(0);
}
`;

interface Held {
  pid: number;
  path: string[];
  tensors: number;
}
interface Why {
  pid: number;
  heldBy: Held[];
  threads: { pid: number }[];
}

test('the report and the record beside the capture name the holders of each process', async () => {
  const program = path.join(folder, 'program.cjs');
  fs.writeFileSync(program, PROGRAM);
  const capture = path.join(folder, 'a.ltna');
  const options = ['--why', '--follow-children', '--quiet', '-o', capture];
  const { code, stdout, stderr } = await auditProgram('run', ...options, '--', process.execPath, program, '5 7 0');
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringContaining('--why') });
  for (const count of [3, 5, 7])
    expect(stdout).toMatch(new RegExp(`^${count} tensors, .*kept .* → ${count} × Tensor \\(process \\d+\\)$`, 'm'));

  const kept = await leakAudit('why', capture, '--json', '-');
  const why: Why = JSON.parse(kept.stdout);
  expect(why.heldBy.map(({ tensors }) => tensors)).toEqual([7, 5, 3]);
  expect(new Set(why.heldBy.map(({ pid }) => pid)).size).toBe(3);
  expect(why.heldBy.at(-1)!.pid).toBe(undefined); // that of the report
  expect(why.heldBy.map(({ pid }) => pid)).not.toContain(why.pid);
  expect(why.threads).toHaveLength(3); // the child without tensors left no heap
  const [seven] = why.heldBy;
  expect(seven!.path[0]).toMatch(/^kept \(module .*program\.cjs\)$/);
});

test('without --follow-children the record is of the first process', async () => {
  const program = path.join(folder, 'program.cjs');
  fs.writeFileSync(program, PROGRAM);
  const { code, stdout } = await auditProgram('run', '--why', '--quiet', '--', process.execPath, program, '5');
  expect(code).toBe(0);
  expect(stdout.match(/^\d tensors, /gm)).toEqual(['3 tensors, ']);
  expect(stdout).not.toContain('(process');
});

test('each child process takes other files, until none are left', () => {
  const { claimFiles } = require(path.join(LIB, 'observe/audit/heap.js'));
  const named = path.join(folder, 'claims');
  const fd = fs.openSync(named, 'w+');
  const claims = `/proc/self/fd/${fd}`;
  const files = ['a', 'b'].map((name) => ({ snapshot: name, facts: name }));
  // A file with a name is another program's, whose descriptor has this number now.
  expect(() => claimFiles({ claims, files })).toThrow('expected an unnamed file');
  expect(fs.fstatSync(fd).size).toBe(0);
  fs.rmSync(named);
  expect([1, 2, 3, 4].map(() => claimFiles({ claims, files }))).toEqual([files[0], files[1], undefined, undefined]);
  expect(fs.fstatSync(fd).size).toBe(64);
  fs.closeSync(fd);
});
