/**
 * Runs the commands of docs/leak-hunt.md: `node scripts/leak-hunt.mjs [seconds]` prints their output and takes the
 * screenshots of docs/leak-hunt/ in Chromium. Run `npm run build` first.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { inRoot, root } from './paths.mjs';
import { runMain, StepError } from './steps/errors.mjs';

const RATE = 100;
const PORT = 8080;
const seconds = Number(process.argv[2] ?? 60);
const folder = 'build/hunt';
const screenshots = inRoot('docs', 'leak-hunt');
const WIDTH = 1080;

/** The page's command, as a checkout runs it. */
const real = (command) => command.replace(/^leak-audit /, 'node dist/cli/leak-audit.js ');

/** Starts a command of the page. */
function begin(command) {
  const [program, ...args] = real(command).split(' ');
  const child = spawn(program === 'node' ? process.execPath : program, args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const state = { command, child, out: '', err: '' };
  child.stdout.on('data', (chunk) => {
    state.out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    state.err += chunk;
  });
  state.ended = new Promise((resolve) => child.once('close', (code, signal) => resolve(signal ?? code)));
  return state;
}

/** Waits until the command ends, and prints its output. */
async function finish(state, { quiet = false } = {}) {
  const status = await state.ended;
  const told = quiet ? '' : `${state.err}${state.out}`;
  process.stdout.write(`\n$ ${state.command}\n${told}${status === 0 ? '' : `[exit status ${status}]\n`}`);
  return status;
}

const run = async (command) => finish(begin(command));

async function until(state, text) {
  while (!state.out.includes(text)) {
    if (state.child.exitCode !== null) throw new StepError(`${state.command} ended: ${state.err}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Records the service while clients use it. */
async function record(cache, capture) {
  const serve = `node dist/examples/digits/server.js --weights ${folder}/weights.pt --cache ${cache} --port ${PORT}`;
  const service = begin(`leak-audit run --interval 10s -o ${folder}/${capture} -- ${serve}`);
  await until(service, 'listening');
  const clients = begin(`node dist/examples/digits/load.js --seconds ${seconds} --rate ${RATE}`);
  await new Promise((resolve) => setTimeout(resolve, (seconds * 1000) / 2));
  const memory = async () => {
    const figures = await (await fetch(`http://127.0.0.1:${PORT}/memory`)).json();
    process.stdout.write(`\n$ curl http://127.0.0.1:${PORT}/memory\n${JSON.stringify(figures)}\n`);
  };
  await memory();
  await finish(clients);
  await memory();
  service.child.kill('SIGTERM');
  await finish(service);
}

/** Takes a screenshot of each part: the page from a first element to a last one. */
async function photograph(page, what) {
  const { chromium } = createRequire(import.meta.url)('playwright-core');
  const programs = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];
  const executablePath = process.env.LTN_CHROMIUM ?? programs.find((file) => existsSync(file));
  if (executablePath === undefined) throw new StepError('Chromium was not found: npm run setup -- --tests installs it');
  const browser = await chromium.launch({ executablePath, args: ['--disable-dev-shm-usage', '--no-sandbox'] });
  try {
    const tab = await browser.newPage({ viewport: { width: WIDTH, height: 800 }, colorScheme: 'light' });
    await tab.goto(`file://${inRoot(page)}`);
    await tab.locator('#site-table summary').first().click();
    await tab.evaluate('scrollTo(0, 0)'); // boundingBox is relative to the window
    for (const [name, first, last] of what) {
      const begins = await tab.locator(first).boundingBox();
      const ends = await tab.locator(last).boundingBox();
      const clip = { x: 0, y: begins.y - 8, width: WIDTH, height: ends.y + ends.height - begins.y + 16 };
      await tab.screenshot({ path: `${screenshots}/${name}.png`, clip, fullPage: true });
    }
  } finally {
    await browser.close();
  }
}

const section = (heading) => `section:has(> #${heading})`;

await runMain(async () => {
  mkdirSync(inRoot(folder), { recursive: true });
  mkdirSync(screenshots, { recursive: true });
  await run(`node dist/examples/digits/train.js --save ${folder}/weights.pt`);
  await record('unbounded', 'leaky.ltna');
  await finish(begin(`leak-audit report ${folder}/leaky.ltna --html ${folder}/leaky.html`), { quiet: true });
  await photograph(`${folder}/leaky.html`, [
    ['verdict', 'header', section('h-time')],
    ['sites', section('h-sites'), '#site-table tbody tr:nth-child(3)'],
    ['oldest', '#h-oldest', `${section('h-oldest')} tbody tr:last-child`],
  ]);
  await run(`leak-audit check ${folder}/leaky.ltna`);
  await record('bounded', 'fixed.ltna');
  await run(`leak-audit diff ${folder}/leaky.ltna ${folder}/fixed.ltna`);
  await run(`leak-audit check ${folder}/fixed.ltna`);
  rmSync(inRoot(folder), { recursive: true });
});
