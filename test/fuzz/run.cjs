/** Runs a child (child.cjs) to its end, and says how it ended: a signal, a call over the limit, or all calls made. */
'use strict';

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

/** Processor time of one call, in seconds; the limit in ordinary time is for a call that waits. */
const CALL_SECONDS = Number(process.env.LTN_FUZZ_SECONDS ?? 10);
const WAITING = 12;
/** Address space and resident memory of a child, in bytes: V8 reserves some, and kernels must not take the machine's. */
const SPACE = 8 * 2 ** 30;
const RESIDENT = 3 * 2 ** 30;
const TICKS = 100;

/** Processor seconds and resident bytes of a process, from Linux. */
function usage(pid) {
  try {
    const fields = fs.readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1].split(' ');
    return { seconds: (Number(fields[11]) + Number(fields[12])) / TICKS, resident: Number(fields[21]) * 4096 };
  } catch {
    return undefined; // it has ended
  }
}

/** What the child wrote before its last call: index, results, errors, and the length of the plan that follows. */
function readProgress(file) {
  const words = new Float64Array(4);
  try {
    const bytes = fs.readFileSync(file);
    new Uint8Array(words.buffer).set(bytes.subarray(0, words.byteLength));
    const text = bytes.subarray(words.byteLength, words.byteLength + words[3]).toString();
    const plan = text.length === 0 ? undefined : JSON.parse(text);
    return { index: plan === undefined ? -1 : words[0], results: words[1], errors: words[2], plan };
  } catch {
    return { index: -1, results: 0, errors: 0 }; // No call was made, or the next is being written.
  }
}

/**
 * Runs a child with `options`. The answer: `end` is 'done', 'crash', 'slow' or 'memory'; `index` the call that was being
 * made; `findings` what the child printed.
 */
function runChild(lib, options, { checkMalloc = false, seconds = CALL_SECONDS } = {}) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'libtorch-node-fuzz-'));
  const progress = path.join(folder, 'progress');
  const given = { ...options, progress };
  if (options.plans !== undefined) {
    given.plans = path.join(folder, 'plans.json');
    fs.writeFileSync(given.plans, JSON.stringify(options.plans));
  }
  const env = {
    ...process.env,
    NODE_NO_WARNINGS: '1',
    UCX_ERROR_SIGNALS: '', // the handler of UCX, which Debian 13's libtorch brings, waits before the process ends
    OMP_NUM_THREADS: '1',
    OPENBLAS_NUM_THREADS: '1',
    MKL_NUM_THREADS: '1',
  };
  // It detects writes past the end of a block at once, not in a later call.
  if (checkMalloc) Object.assign(env, { LD_PRELOAD: 'libc_malloc_debug.so.0', MALLOC_CHECK_: '3' });
  const node = `ulimit -v ${SPACE / 1024} -f 200000 -c 0 2>/dev/null; exec "$0" "$@"`;
  const cwd = path.join(folder, 'cwd');
  fs.mkdirSync(cwd); // a call that writes a file writes it here
  const args = ['--expose-gc', path.join(__dirname, 'child.cjs'), lib, JSON.stringify(given)];
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/bash', ['-c', node, process.execPath, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env,
      cwd,
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (data) => (stdout += data));
    child.stderr.on('data', (data) => (stderr = (stderr + data).slice(-4000)));
    let limit;
    let seen = { index: -2, seconds: 0, since: Date.now() };
    const watch = setInterval(() => {
      const used = usage(child.pid);
      if (used === undefined) return;
      const { index } = readProgress(progress);
      if (index !== seen.index) seen = { index, seconds: used.seconds, since: Date.now() };
      if (used.seconds - seen.seconds > seconds || Date.now() - seen.since > seconds * WAITING * 1000) limit = 'slow';
      else if (used.resident > RESIDENT) limit = 'memory';
      if (limit !== undefined) child.kill('SIGKILL');
    }, 200);
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearInterval(watch);
      const lines = stdout.split('\n').filter((line) => line.startsWith('{'));
      const findings = lines.map((line) => JSON.parse(line)).filter(({ kind }) => kind !== 'done');
      const isDone = code === 0 && lines.at(-1) === '{"kind":"done"}';
      const end = limit ?? (isDone ? 'done' : 'crash');
      const told = { end, signal: signal ?? `exit status ${code}`, findings, stderr, ...readProgress(progress) };
      fs.rmSync(folder, { recursive: true, force: true });
      resolve(told);
    });
  });
}

module.exports = { CALL_SECONDS, runChild };
