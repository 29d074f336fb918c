/**
 * Load-tests the example service and the same model in Python and in onnxruntime; `npm run bench:service` builds what this
 * needs and starts it. Markdown goes to stdout, progress to stderr.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { inRoot } from '../../scripts/paths.mjs';
import { runLogged } from '../../scripts/steps/command.mjs';
import { runMain, StepError } from '../../scripts/steps/errors.mjs';
import { say, step } from '../../scripts/steps/progress.mjs';
import { machine } from '../support/machine.mjs';
import { pythonWithTorch } from '../support/python.mjs';
import { writeSection } from '../support/results.mjs';
import { endUnderLoad, measure } from './measure.mjs';
import { HEADING, report } from './report.mjs';
import { startAll } from './servers.mjs';

const usage = `usage: npm run bench:service -- [--seconds 300] [--rounds 5] [--connections 32] [--only NAME,…] [--write]
  --seconds      of load on each service
  --rounds       in which the services take turns
  --connections  clients at the same time
  --only         services whose names hold one of these words, besides libtorch-node
  --write        writes the section of bench/RESULTS.md too`;

function readOptions() {
  let values;
  try {
    values = parseArgs({
      options: {
        help: { type: 'boolean', short: 'h', default: false },
        seconds: { type: 'string', default: '300' },
        rounds: { type: 'string', default: '5' },
        connections: { type: 'string', default: '32' },
        only: { type: 'string' },
        write: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    throw new StepError(`${error.message}\n${usage}`);
  }
  const number = (name, least) => {
    const value = Number(values[name]);
    if (!Number.isInteger(value) || value < least)
      throw new StepError(`--${name}: expected an integer of ${least} or more, got ${values[name]}\n${usage}`);
    return value;
  };
  const rounds = number('rounds', 1);
  return { ...values, rounds, seconds: number('seconds', rounds), connections: number('connections', 1) };
}

await runMain(async () => {
  const options = readOptions();
  if (options.help) return void process.stdout.write(`${usage}\n`);
  const python = pythonWithTorch();
  if (python === undefined)
    throw new StepError('No Python with torch was found, which makes the model (Debian: python3-torch).');
  const folder = mkdtempSync(path.join(os.tmpdir(), 'bench-service-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const [model, onnx] = ['model.pt', 'model.onnx'].map((name) => path.join(folder, name));
  const script = inRoot('examples', 'service', 'model.py');
  await step('the model', () => runLogged('model', python, [script, model, '--onnx', onnx]));

  const { rounds, connections } = options;
  const plan = { rounds, seconds: Math.floor(options.seconds / rounds), connections };
  const head = machine(`${options.seconds} s of load on each service`);
  const words = options.only?.split(',') ?? [''];
  const isWanted = (title) => words.some((word) => title.includes(word));
  const { servers, missing } = await startAll(isWanted, { model, onnx, python });
  const measured = await measure({ servers, ...plan, say });
  for (const server of servers.slice(1)) await server.end('SIGKILL');
  const end = await endUnderLoad(servers[0], plan.connections);
  const [heading, ...rest] = report({ ...measured, end }, plan, missing).split('\n\n');
  const text = `${[heading, head, ...rest].join('\n\n')}\n`;
  process.stdout.write(text);
  if (options.write) writeSection(HEADING, text);
});
