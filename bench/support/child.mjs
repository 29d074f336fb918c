/** The measured programs: child processes that answer in JSON and are killed after a timeout. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { root } from '../../scripts/paths.mjs';
import { StepError } from '../../scripts/steps/errors.mjs';

/** One thread for every program, because the bindings are compared, not how many cores a matrix product uses. */
const environment = { BENCH_THREADS: '1', OMP_NUM_THREADS: '1', OPENBLAS_NUM_THREADS: '1' };

/** Multiplies all timeouts, for tests that run a benchmark on a slow machine. */
const patience = Number(process.env.LTN_TIME_FACTOR ?? 1);

const children = new Set();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/**
 * @param {string[]} command
 * @param {import('node:child_process').SpawnOptions} options
 */
function start([program, ...args], options) {
  const child = spawn(program, args, {
    cwd: root,
    ...options,
    env: { ...process.env, ...environment, ...options.env },
  });
  children.add(child);
  child.once('close', () => children.delete(child));
  return child;
}

/**
 * Runs a program to its end.
 * @param {string[]} command
 * @param {{ seconds?: number, env?: NodeJS.ProcessEnv, cwd?: string, quiet?: boolean }} [options] quiet: no stderr
 * @returns {Promise<string>} its output
 */
export function output(command, { seconds = 120, quiet = false, ...options } = {}) {
  return new Promise((resolve, reject) => {
    const child = start(command, { ...options, stdio: ['ignore', 'pipe', quiet ? 'ignore' : 'inherit'] });
    let text = '';
    let late = false;
    const timer = setTimeout(
      () => {
        late = true;
        child.kill('SIGKILL');
      },
      seconds * patience * 1000,
    );
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
    });
    child.once('error', (error) => {
      clearTimeout(timer);
      reject(new StepError(`${command[0]} could not be run: ${error.message}`));
    });
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      const why = late ? `took longer than ${seconds * patience} s` : `ended with ${signal ?? `status ${code}`}`;
      if (code === 0 && !late) resolve(text);
      else reject(new StepError(`${command.slice(0, 6).join(' ')} ${why}`));
    });
  });
}

/** Runs a program to its end. @returns {Promise<any>} its first line of output that is a JSON object */
export async function jsonOf(command, options) {
  const line = (await output(command, options)).split('\n').find((each) => each.startsWith('{'));
  if (line === undefined) throw new StepError(`${command.slice(0, 6).join(' ')} printed no result`);
  return JSON.parse(line);
}

/** A program that keeps running and answers lines with lines of JSON, so that warm programs can be measured in turn. */
export class Responder {
  #child;
  #name;
  #lines;
  /** The first failure to start, read or write; every later question fails with it. */
  #failure = undefined;

  /** @param {string} name @param {string[]} command */
  constructor(name, command) {
    this.#name = name;
    this.#child = start(command, { stdio: ['pipe', 'pipe', 'inherit'] });
    const failed = (error) => {
      this.#failure ??= error;
    };
    this.#child.on('error', failed);
    this.#child.stdin.on('error', failed);
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  /** @param {string} question @param {number} seconds @returns {Promise<any>} */
  async ask(question, seconds) {
    let late = false;
    const timer = setTimeout(
      () => {
        late = true;
        this.#child.kill('SIGKILL');
      },
      seconds * patience * 1000,
    );
    this.#child.stdin.write(`${question}\n`);
    const { value, done } = await this.#lines.next();
    clearTimeout(timer);
    if (!done) return JSON.parse(value);
    const why = late ? `no answer in ${seconds * patience} s` : (this.#failure?.message ?? 'it has ended');
    throw new StepError(`${this.#name}: "${question}" failed: ${why}`);
  }

  end() {
    this.#child.stdin.end();
  }
}
