/** One build at a time in a checkout: a second one waits for the first instead of writing into the same files. */
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildDir } from '../paths.mjs';
import { say } from './progress.mjs';

const lockFile = path.join(buildDir, '.lock');

function holder() {
  try {
    return Number(readFileSync(lockFile, 'utf8'));
  } catch {
    return undefined; // released in the meantime
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function tryLock() {
  try {
    writeFileSync(lockFile, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    return false;
  }
}

/** Whether the lock's holder is dead. An empty file is a lock that is being written, unless it is older than 10 s. */
function isAbandoned(pid) {
  if (pid !== 0) return !isAlive(pid);
  return Date.now() - (statSync(lockFile, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) > 10_000;
}

/**
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock(work) {
  mkdirSync(buildDir, { recursive: true });
  for (let told = false; !tryLock(); told = true) {
    const pid = holder();
    if (told && pid !== undefined && isAbandoned(pid)) rmSync(lockFile, { force: true });
    else if (!told) {
      if (pid && isAlive(pid)) say(`… waiting for another build in this checkout (process ${pid})`);
      await sleep(50);
    } else await sleep(500);
  }
  const release = () => {
    if (holder() === process.pid) rmSync(lockFile, { force: true });
  };
  process.once('exit', release);
  try {
    return await work();
  } finally {
    process.removeListener('exit', release);
    release();
  }
}
