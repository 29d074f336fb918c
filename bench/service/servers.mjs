/** The services to compare: starts them, measures their resources and ends them. */
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { inRoot, root } from '../../scripts/paths.mjs';
import { runLogged } from '../../scripts/steps/command.mjs';
import { StepError } from '../../scripts/steps/errors.mjs';
import { step } from '../../scripts/steps/progress.mjs';
import { endWithUs } from './children.mjs';

const here = (name) => inRoot('bench', 'service', name);
const START_SECONDS = 120 * Number(process.env.LTN_TIME_FACTOR ?? 1);

/** A running service. */
export class Server {
  #child;
  #ended;
  /** @type {string} */
  url = '';

  /** @param {string} title @param {string[]} command */
  constructor(title, command) {
    this.title = title;
    const [program, ...args] = command;
    this.#child = spawn(program, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
    this.output = '';
    this.#child.stdout.setEncoding('utf8').on('data', (chunk) => {
      this.output += chunk;
    });
    this.#ended = new Promise((resolve) => {
      this.#child.once('error', (error) => resolve(error.message));
      this.#child.once('close', (code, signal) => resolve(signal ?? code));
    });
    endWithUs(this.#child);
  }

  async listening() {
    const limit = performance.now() + 1000 * START_SECONDS;
    let ended;
    void this.#ended.then((how) => {
      ended = how;
    });
    for (;;) {
      const found = /^listening on (\S+)$/m.exec(this.output);
      if (found !== null) {
        this.url = found[1];
        return this;
      }
      if (ended !== undefined) throw new StepError(`${this.title} ended (${ended}) before it listened`);
      if (performance.now() > limit) throw new StepError(`${this.title} did not listen within ${START_SECONDS} s`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Current RSS in bytes. */
  rss() {
    const text = readFileSync(`/proc/${this.#child.pid}/status`, 'utf8');
    return 1024 * Number(/VmRSS:\s+(\d+)/.exec(text)[1]);
  }

  /** CPU seconds of all threads so far. */
  cpu() {
    const stat = readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / 100; // USER_HZ
  }

  /** @param {NodeJS.Signals} signal @returns {Promise<number | string>} its exit status, or the signal */
  end(signal) {
    this.#child.kill(signal);
    return this.#ended;
  }
}

export const OURS = 'libtorch-node';

/** Their commands, by title; throws with the reason if a service is not available here. */
const services = {
  [OURS]: ({ model }) => [
    process.execPath,
    inRoot('dist', 'examples', 'service', 'main.js'),
    // Long timeouts, so that requests do not time out on a busy machine.
    ...['--model', model, '--port', '0', '--drain', '60000', '--queue-timeout', '60000', '--body-timeout', '60000'],
  ],
  'Python, http.server': ({ model, python }) => [python, here('threads.py'), model],
  'Python, uvicorn': ({ model, python }) => {
    if (spawnSync(python, ['-c', 'import uvicorn']).status === 0) return [python, here('asgi.py'), model];
    throw new StepError('it is not installed (Debian: python3-uvicorn)');
  },
  'onnxruntime-node': async ({ onnx }) => {
    if (!existsSync(onnx)) throw new StepError("this machine's PyTorch cannot export the model (build/logs/model.log)");
    return [process.execPath, here('onnx.cjs'), onnx, await onnxruntime()];
  },
};

/**
 * Starts the wanted services; ours is the first.
 * @param {(title: string) => boolean} isWanted
 * @param {{ model: string, onnx: string, python: string }} given
 * @returns {Promise<{ servers: Server[], missing: string[] }>} `missing`: the services left out, and why
 */
export async function startAll(isWanted, given) {
  const servers = [];
  const missing = [];
  for (const [title, commandOf] of Object.entries(services)) {
    if (title !== OURS && !isWanted(title)) continue;
    try {
      servers.push(new Server(title, await commandOf(given)));
    } catch (error) {
      missing.push(`${title}: ${error.message.split('\n')[0]}`);
    }
  }
  for (const server of servers) await server.listening();
  return { servers, missing };
}

/** @returns {Promise<string>} the folder of onnxruntime-node: 290 MB, so it is installed at first use instead of by `npm ci` */
async function onnxruntime() {
  const folder = inRoot('build', 'onnxruntime');
  const installed = path.join(folder, 'node_modules', 'onnxruntime-node');
  const check = () => spawnSync(process.execPath, ['-e', `require(${JSON.stringify(installed)})`]).status === 0;
  if (check()) return installed;
  mkdirSync(folder, { recursive: true });
  for (const name of ['package.json', 'package-lock.json']) {
    cpSync(inRoot('bench', 'service', 'onnx', name), path.join(folder, name));
  }
  // Its install script would fetch GPU libraries; the CPU library is in the package.
  await step('onnxruntime-node', () => runLogged('onnxruntime', 'npm', ['ci', '--ignore-scripts'], { cwd: folder }));
  if (!check()) throw new StepError('it does not load on this machine');
  return installed;
}
