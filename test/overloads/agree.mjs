/**
 * Checks that overloads are chosen as in PyTorch: makes tens of thousands of calls from the signatures of PyTorch's own
 * argument parser on both sides. The operators that ran and their results must be the same; differences.json lists
 * intended differences, with the reason. After `npm run build`:
 *
 *     node test/overloads/agree.mjs [EVERY]
 *
 * With a number, the first calls of each signature and one in EVERY of the others, as `npm test` does. Prints
 * unexplained differences, and exits with 1 if there are any. Both sides run under a memory limit: a call whose sizes
 * libtorch reads from uninitialized memory may need gigabytes in some runs. Such calls are listed, not compared.
 */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const ROOT = path.resolve(HERE, '../..');
const DATA_LIMIT = 4 * 2 ** 30;
const every = process.argv[2] ?? '1';

/** The rules for the libtorch found: `since` is the first release that differs. */
function rulesOf(release) {
  const isBefore = (one, other) => one.localeCompare(other, undefined, { numeric: true }) < 0;
  return JSON.parse(fs.readFileSync(path.join(HERE, 'differences.json'), 'utf8'))
    .filter(({ since }) => since === undefined || !isBefore(release, since))
    .map((rule) => ({ ...rule, pattern: new RegExp(`^(${rule.calls})$`), met: 0 }));
}

/** Also the working folder of the calls: one of them, from_file, makes a file. */
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'libtorch-node-overloads-'));

function output(command, args) {
  const options = { cwd: folder, encoding: 'utf8', maxBuffer: 2 ** 30 };
  const { status, signal, stdout, stderr } = spawnSync(command, args, options);
  if (status === 0) return stdout;
  throw new Error(`${[command, ...args].join(' ')} ended with ${status ?? signal}: ${stderr.slice(-2000)}`);
}
const limited = (command, args) => output('prlimit', [`--data=${DATA_LIMIT}`, command, ...args]);

function compileRecorder(folder) {
  const file = path.join(folder, 'recorder.node');
  const flags = (kind) =>
    output(process.execPath, [path.join(ROOT, 'scripts/libtorch.mjs'), kind])
      .trim()
      .split('\n');
  const source = path.join(HERE, 'recorder.cpp');
  output('g++', [...flags('--cflags'), '-fPIC', '-shared', source, '-o', file, ...flags('--ldflags')]);
  return file;
}

/** An op that reads a tensor's number, or a property that Python reads from the tensor without an op. */
const silent =
  /^aten::(item|is_nonzero|is_floating_point|is_neg|is_signed|is_conj|is_inference|stride\.int|requires_grad_)$/;
const operators = ({ ops }) =>
  ops
    .split(' ')
    .filter((name) => !silent.test(name))
    .join(' ');

function same(a, b) {
  if (typeof a === 'number' && typeof b === 'number') {
    return a === b || Math.abs(a - b) <= 1e-5 * Math.max(1, Math.abs(a), Math.abs(b));
  }
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => same(item, b[i]));
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => same(a[key], b[key]));
}

const outOfMemory = /allocate memory|out of memory|bad_alloc|MemoryError|ERR_TORCH_(OUT_OF_MEMORY|MEMORY_LIMIT)/;
const wantsMemory = ({ error }) => error !== undefined && outOfMemory.test(error);

/** refused: only PyTorch takes the call. taken: only we do. operators: different ones ran. value: different results. */
function difference(theirs, ours) {
  if (theirs.error !== undefined) return ours.error === undefined ? 'taken' : undefined;
  if (ours.error !== undefined) return 'refused';
  if (operators(theirs) !== operators(ours)) return 'operators';
  return same(theirs.value, ours.value) ? undefined : 'value';
}

try {
  const rules = rulesOf(output(process.execPath, [path.join(ROOT, 'scripts/libtorch.mjs'), '--version']).trim());
  const recorder = compileRecorder(folder);
  const lines = limited('/usr/bin/python3', [path.join(HERE, 'pytorch.py'), recorder, every])
    .trimEnd()
    .split('\n');
  const calls = lines.filter((_, i) => i % 2 === 0);
  const theirs = lines.filter((_, i) => i % 2 === 1).map((line) => JSON.parse(line));
  const file = path.join(folder, 'calls.jsonl');
  fs.writeFileSync(file, calls.join('\n'));
  const replay = [path.join(HERE, 'replay.cjs'), path.join(ROOT, 'dist/lib'), recorder, file];
  const ours = limited(process.execPath, ['--no-warnings', ...replay])
    .split('\n')
    .map((line) => JSON.parse(line));
  if (ours.length !== calls.length) throw new Error(`${ours.length} answers to ${calls.length} calls`);

  let agreed = 0;
  let explained = 0;
  const unexplained = [];
  calls.forEach((line, i) => {
    if (ours[i].absent === true) return; // test/public/names says which names are left out, and why
    const call = JSON.parse(line);
    if (wantsMemory(theirs[i]) || wantsMemory(ours[i])) {
      console.log(`not compared, it wanted more memory than there is: ${line}`);
      return;
    }
    const kind = difference(theirs[i], ours[i]);
    if (kind === undefined) {
      if (theirs[i].error === undefined) agreed++;
      return;
    }
    const rule = rules.find((each) => each.kinds.includes(kind) && each.pattern.test(`${call.space}.${call.name}`));
    if (rule !== undefined) {
      rule.met++;
      explained++;
      return;
    }
    const told = [theirs[i], ours[i]].map((answer) => answer.error ?? `${answer.ops} ${JSON.stringify(answer.value)}`);
    unexplained.push(`${kind}: ${line}\n  PyTorch: ${told[0]}\n  here: ${told[1]}`.slice(0, 900));
  });
  // A sample of the calls does not use every rule.
  const idle = every !== '1' ? [] : rules.filter(({ met }) => met === 0).map((rule) => rule.calls);
  for (const text of [...unexplained, ...idle.map((text) => `no call differs any more: ${text}`)]) console.log(text);
  console.log(
    `${calls.length} calls: ${agreed} taken by both agree, ${explained} differ as explained, ${unexplained.length} unexplained`,
  );
  if (unexplained.length + idle.length > 0) process.exitCode = 1;
} finally {
  fs.rmSync(folder, { recursive: true, force: true });
}
