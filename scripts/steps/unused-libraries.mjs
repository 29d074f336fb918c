/**
 * Debian 12's libtorch_cpu is linked with OpenCV and FFmpeg and refers to none of their symbols. With what they need in turn
 * they are 500 of the 575 libraries of a process, and a third of the time of loading libtorch and of the memory after it, which
 * tests pay for a thousand programs. Tests load empty libraries of these names instead; test/package and browsers load the real
 * ones (test/support/real-libraries.ts).
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { findLibtorch, readElf } from '../libtorch.mjs';
import { inRoot } from '../paths.mjs';
import { runLogged } from './command.mjs';
import { withLock } from './lock.mjs';
import { say, step } from './progress.mjs';

const run = promisify(execFile);
const dir = inRoot('build', 'unused-libraries');
const unused = /^lib(opencv_\w+|av\w+|sw\w+)\.so\./;

/** An environment whose programs load the empty libraries first. */
const withFolder = (env) => ({ ...env, LD_LIBRARY_PATH: [dir, env.LD_LIBRARY_PATH].filter(Boolean).join(':') });

/** The lines of ldd, which looks up every symbol of a library and of all that it needs, on what it did not find. */
async function notFound(library, env) {
  // Without ldd, or where it cannot read a library, nothing is known, so the real ones are used.
  const refused = ({ stdout, stderr, message }) => ({ stdout, stderr, failed: [message] });
  const { stdout, stderr, failed = [] } = await run('ldd', ['-r', library], { env }).catch(refused);
  const missing = `${stdout}${stderr}`.split('\n').filter((line) => /undefined symbol|not found|no version/.test(line));
  return [...missing, ...failed];
}

async function make(names) {
  mkdirSync(dir, { recursive: true });
  for (const name of names) {
    const args = ['-shared', '-nostdlib', '-x', 'c', '/dev/null', `-Wl,-soname,${name}`, '-o', path.join(dir, name)];
    await runLogged('unused-libraries', 'gcc', args, { append: name !== names[0] });
  }
}

/**
 * The environment for tests: with the empty libraries where libtorch names the real ones and everything is found without
 * them, otherwise `env` itself.
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<NodeJS.ProcessEnv>}
 */
export async function withoutUnusedLibraries(env) {
  if (process.platform !== 'linux') return env;
  const library = findLibtorch().files.torch_cpu;
  const names = readElf(library).needed.filter((name) => unused.test(name));
  if (names.length === 0) return env;
  if (!names.every((name) => existsSync(path.join(dir, name))))
    await withLock(() => step('empty libraries in place of those that libtorch does not use', () => make(names)));
  const missing = await notFound(library, withFolder(env));
  if (missing.length === 0) return withFolder(env);
  say(`The libraries that libtorch does not use are loaded, because without them ldd prints: ${missing[0].trim()}`);
  return env;
}
