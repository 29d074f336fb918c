/** Processes of the soak, and what Linux says of them. */
'use strict';

const { fork } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const PAGE_BYTES = 4096;
/** Address space of a program, as of the fuzzer's children (test/fuzz/run.cjs): a hostile call must not take the machine's memory. */
const SPACE = 8 * 2 ** 30;

/**
 * Resident bytes of its own, open files and threads; undefined if the process has ended. Pages of files do not count: the more ops
 * are called, the more of libtorch's code is resident.
 */
function figuresOf(pid) {
  try {
    const [, resident, shared] = fs.readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ').map(Number);
    return {
      own: (resident - shared) * PAGE_BYTES,
      files: fs.readdirSync(`/proc/${pid}/fd`).length,
      threads: fs.readdirSync(`/proc/${pid}/task`).length,
    };
  } catch {
    return undefined;
  }
}

/**
 * A program that answers messages (program.cjs). What it says on stderr is kept for the report of its end. It runs in a folder of
 * its own, which is removed at its end: hostile calls name files.
 */
function startProgram(file, args = []) {
  const env = { ...process.env, OMP_NUM_THREADS: '1', OPENBLAS_NUM_THREADS: '1', NODE_NO_WARNINGS: '1' };
  const cwd = fs.mkdtempSync(path.join(os.tmpdir(), 'ltn-soak-'));
  // A shell limits itself and becomes Node: the child is the same process, and keeps the channel.
  const execArgv = ['-c', `ulimit -v ${SPACE / 1024} -c 0 && exec "$0" "$@"`, process.execPath];
  const child = fork(file, args, {
    execPath: '/bin/bash',
    execArgv,
    cwd,
    env,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const waiting = new Map();
  let said = '';
  let id = 0;
  let isEnding = false;
  child.stderr.on('data', (data) => {
    said = (said + data).slice(-2000);
  });
  child.on('message', (message) => {
    const { resolve, reject } = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.error === undefined) resolve(message.answer);
    else reject(new Error(message.error));
  });
  const exited = new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      fs.rmSync(cwd, { recursive: true, force: true });
      for (const { reject } of waiting.values())
        reject(new Error(`it ended with ${signal ?? `status ${code}`}: ${said}`));
      waiting.clear();
      resolve({ code, signal, said, wasAsked: isEnding });
    });
  });
  return {
    pid: child.pid,
    exited,
    ask: (verb, value) =>
      new Promise((resolve, reject) => {
        waiting.set(++id, { resolve, reject });
        child.send({ id, verb, value }, (error) => error !== null && reject(error));
      }),
    end() {
      isEnding = true;
      child.disconnect();
      return exited;
    },
  };
}

module.exports = { figuresOf, startProgram };
