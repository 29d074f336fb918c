/** Runs the package manager that started this program: `npm create`, `pnpm create`, … */
import { spawn } from 'node:child_process';
import { FailedError, printable } from './errors.mjs';

const KNOWN = ['npm', 'pnpm', 'yarn', 'bun'];

/** The manager by the user agent that all of them set. @param {NodeJS.ProcessEnv} env */
export function managerOf(env = process.env) {
  const name = /^(\w+)\//.exec(env.npm_config_user_agent ?? '')?.[1];
  return KNOWN.includes(name) ? name : 'npm';
}

/** npm's variables for this program's own package would affect the new project's. */
const withoutOwn = (env) =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !/^npm_(?:package|lifecycle|command)/.test(name)));

/** The running installation, so that an interruption can end it. */
let running = null;
/** Ends the running installation, and waits for its end. @param {NodeJS.Signals} signal */
export async function endInstall(signal) {
  if (running === null) return;
  const { pid } = running.child;
  try {
    // The whole group: npm's own children must not write into a folder that is being removed.
    if (process.platform === 'win32') running.child.kill(signal);
    else if (pid !== undefined) process.kill(-pid, signal);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error; // it has ended meanwhile
  }
  await running.ended;
}

/** Installs the packages of a folder. Shows what the manager printed only if it fails. @param {string} folder */
export async function install(folder) {
  const manager = managerOf();
  const flags = manager === 'npm' ? ['--no-audit', '--no-fund', '--loglevel=error'] : [];
  const windows = process.platform === 'win32'; // where the managers are scripts of the command interpreter
  const child = spawn(windows ? `${manager}.cmd` : manager, ['install', ...flags], {
    cwd: folder,
    env: withoutOwn(process.env),
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: windows,
    detached: !windows, // a process group, which endInstall ends
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      text = `${text}${chunk}`.slice(-100_000);
    });
  }
  const ended = new Promise((resolve) => {
    child.once('error', (error) => resolve(`could not be started (${error.code ?? error.message})`));
    child.once('close', (code, signal) => resolve(code === 0 ? null : signal === null ? `status ${code}` : signal));
  });
  running = { child, ended };
  const problem = await ended;
  running = null;
  if (problem === null) return;
  const last = text.trim().split('\n').slice(-20).map(printable).join('\n');
  throw new FailedError(
    `${last}${last === '' ? '' : '\n'}${manager} install failed: ${problem}. Nothing was made. With --no-install the project is made without its packages.`,
  );
}
