/**
 * Clients of the service: they send held-out digits at a steady rate and check the answers.
 * As a program: `node load.js [--url http://127.0.0.1:8080] [--seconds N] [--rate N]`.
 */
import * as http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Digits, loadDigits, PIXELS } from './data';
import type { Answer } from './server';

export interface LoadOptions {
  /** The total number of requests, or fewer if `seconds` pass first. */
  requests: number;
  seconds: number;
  perSecond: number;
  /** The maximum number of requests in flight. */
  clients?: number;
  signal?: AbortSignal;
}

export interface LoadResult {
  answered: number;
  /** Answers with a wrong digit. */
  wrong: number;
  /** Requests without a 200 answer. */
  failed: number;
  seconds: number;
}

const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost']);

export async function runLoad(url: string, digits: Digits, options: LoadOptions): Promise<LoadResult> {
  if (!LOOPBACK.has(new URL(url).hostname)) throw new Error(`load: ${url} is not on this machine`);
  const { requests, seconds, perSecond, clients = 8, signal } = options;
  const agent = new http.Agent({ keepAlive: true, maxSockets: clients });
  const bodies = requestBodies(digits);
  const result = { answered: 0, wrong: 0, failed: 0 };
  const start = performance.now();
  let next = 0;

  async function client(): Promise<void> {
    while (next < requests && performance.now() - start < seconds * 1000) {
      const i = next++;
      const wait = (i / perSecond) * 1000 - (performance.now() - start);
      if (wait > 0) await sleep(wait, undefined, { signal });
      // Each image is sent twice, as by a client that retries.
      const which = Math.floor(i / 2) % bodies.length;
      const answer = await ask(new URL('/classify', url), bodies[which]!, agent, signal);
      if (answer === undefined) result.failed++;
      else result.answered++;
      if (answer !== undefined && answer.digit !== digits.labels[which]) result.wrong++;
    }
  }

  try {
    await Promise.all(Array.from({ length: clients }, client));
  } finally {
    agent.destroy();
  }
  return { ...result, seconds: (performance.now() - start) / 1000 };
}

function requestBodies({ pixels, labels }: Digits): string[] {
  return labels.map((_, i) => {
    const image = Array.from(pixels.subarray(i * PIXELS, (i + 1) * PIXELS), (value) => Number(value.toFixed(3)));
    return JSON.stringify({ pixels: image });
  });
}

/** The service's answer; undefined for anything but a 200. */
function ask(url: URL, body: string, agent: http.Agent, signal?: AbortSignal): Promise<Answer | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const request = http.request(url, { method: 'POST', agent, headers, ...(signal ? { signal } : {}) }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('error', () => resolve(undefined));
      response.on('end', () => resolve(response.statusCode === 200 ? (JSON.parse(text) as Answer) : undefined));
    });
    request.on('error', (error) => (signal?.aborted ? reject(error) : resolve(undefined)));
    request.end(body);
  });
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      url: { type: 'string', default: 'http://127.0.0.1:8080' },
      seconds: { type: 'string', default: '60' },
      rate: { type: 'string', default: '100' },
    },
  });
  const [seconds, perSecond] = [Number(values.seconds), Number(values.rate)];
  const options = { requests: seconds * perSecond, seconds, perSecond };
  const { answered, wrong, failed, ...took } = await runLoad(values.url, loadDigits().heldOut, options);
  console.log(`${answered} digits answered in ${took.seconds.toFixed(1)} s, ${wrong} misread, ${failed} failed`);
  if (failed > 0) process.exitCode = 1;
}

if (require.main === module) {
  main().catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  });
}
