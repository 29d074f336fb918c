/** Runs the service under `leak-audit run`, with clients, and returns the report. */
import { type ChildProcess, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Digits } from './data';
import { type LoadResult, runLoad } from './load';
import type { Site } from './show';

const LEAK_AUDIT = path.resolve(require.resolve('libtorch-node/package.json'), '../dist/cli/leak-audit.js');
const SERVER = path.join(__dirname, 'server.js');
const INTERVAL = '500ms';
/** The service is killed if it does not end by itself. */
const GRACE_MS = 10_000;

export interface AuditOptions {
  /** The folder of the report. */
  folder: string;
  weights: string;
  cache: 'unbounded' | 'bounded';
  heldOut: Digits;
  seconds: number;
  perSecond: number;
  signal: AbortSignal;
}

export interface Audit {
  load: LoadResult;
  /** The report that leak-audit printed. */
  text: string;
  report: { verdict: 'clean' | 'leak' | 'insufficient'; summary: { liveTensors: number }; sites: Site[] };
}

/** The service's live figures go to stderr. */
export async function auditService(options: AuditOptions): Promise<Audit> {
  const { folder, weights, cache, heldOut, seconds, perSecond, signal } = options;
  signal.throwIfAborted();
  const json = path.join(folder, `${cache}.json`);
  const service = [process.execPath, SERVER, '--weights', weights, '--cache', cache];
  const child = spawn(process.execPath, [LEAK_AUDIT, 'run', '--interval', INTERVAL, '--json', json, '--', ...service], {
    // Its stdout is a pipe, but its text is printed on ours.
    env: process.stdout.isTTY ? { ...process.env, FORCE_COLOR: '1' } : process.env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const output = readOutput(child);
  try {
    const url = await output.url;
    // A fixed count, which takes longer on a slow machine: with fewer, a filling cache would look like a leak.
    const requests = seconds * perSecond;
    const load = await runLoad(url, heldOut, { requests, seconds: Number.POSITIVE_INFINITY, perSecond, signal });
    child.kill('SIGTERM'); // leak-audit forwards it to the service
    const status = await output.ended;
    if (status !== 0) throw new Error(`the service under leak-audit ended with ${status}`);
    return { load, text: output.rest(), report: JSON.parse(fs.readFileSync(json, 'utf8')) as Audit['report'] };
  } finally {
    await end(child, output.ended);
  }
}

/** The service's first line is its URL; the rest is the report. */
function readOutput(child: ChildProcess) {
  let text = '';
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.on('close', (code, signal) => resolve(signal ?? code));
  });
  const url = new Promise<string>((resolve, reject) => {
    child.on('error', reject);
    child.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      const found = /^listening on (\S+)\n/.exec(text);
      if (found !== null) resolve(found[1]!);
    });
    void ended.then((status) => reject(new Error(`the service ended with ${status} before it listened`)));
  });
  return { ended, url, rest: () => text.slice(text.indexOf('\n') + 1) };
}

async function end(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), GRACE_MS);
  await ended;
  clearTimeout(timer);
}
