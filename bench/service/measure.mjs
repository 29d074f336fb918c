/** Load-tests the services in turn, round by round, so that a temporary slowdown of the machine affects all. */
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { inRoot } from '../../scripts/paths.mjs';
import { StepError } from '../../scripts/steps/errors.mjs';
import { endWithUs } from './children.mjs';

/**
 * @typedef {object} Round
 * @property {import('./load.mjs').Result} load
 * @property {number} cpu seconds of processor time in the service
 * @property {number} rss bytes, the peak of this round
 * @property {number | undefined} delay p99 of the event loop's delay, ms; undefined for services without an event loop
 */
/** @typedef {{ at: number, value: number }[]} Series seconds under load; bytes of live tensors */

const SAMPLE_MS = 1000;
/** Without keep-alive, because the service would wait for open connections when it ends. */
const CLOSING = { headers: { connection: 'close' } };

/** Starts the clients. @returns {{ result: Promise<import('./load.mjs').Result>, answered: Promise<void> }} */
function clients(url, connections, seconds) {
  const given = JSON.stringify({ url, connections, seconds });
  const child = spawn(process.execPath, [inRoot('bench', 'service', 'load.mjs'), given], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  endWithUs(child);
  let text = '';
  let begin;
  const answered = new Promise((resolve) => {
    begin = resolve;
  });
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
    if (text.includes('all answered\n')) begin();
  });
  const result = new Promise((resolve, reject) => {
    child.once('close', (code) => {
      begin();
      if (code === 0) resolve(JSON.parse(text.trimEnd().split('\n').at(-1)));
      else reject(new StepError(`the clients of ${url} ended with ${code}`));
    });
  });
  return { result, answered };
}

/** The p99 of the event loop's delay since the last call. @returns {Promise<number | undefined>} ms */
async function delayOf(server) {
  const answer = await fetch(`${server.url}/metrics`, CLOSING).catch(() => undefined);
  if (answer?.status !== 200) return undefined;
  const found = /^nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(await answer.text());
  return found === null ? undefined : 1000 * Number(found[1]);
}

/** @param {import('./servers.mjs').Server} server @param {Series | undefined} live where live bytes go */
async function oneRound(server, connections, seconds, live) {
  const hasLoop = (await delayOf(server)) !== undefined; // also resets the histogram
  const cpu = server.cpu();
  const offset = live?.at(-1)?.at ?? 0;
  const start = performance.now();
  let rss = server.rss();
  const over = new AbortController();
  const sampling = (async () => {
    while (!over.signal.aborted) {
      rss = Math.max(rss, server.rss());
      if (live !== undefined) {
        const { memory } = await (await fetch(`${server.url}/health`, CLOSING)).json();
        live.push({ at: offset + (performance.now() - start) / 1000, value: memory.bytes });
      }
      await sleep(SAMPLE_MS, undefined, { signal: over.signal }).catch(() => {}); // the load has ended
    }
  })();
  const load = await clients(server.url, connections, seconds).result;
  over.abort();
  const used = server.cpu() - cpu;
  await sampling;
  return { load, cpu: used, rss, delay: hasLoop ? await delayOf(server) : undefined };
}

/**
 * @param {{ servers: import('./servers.mjs').Server[], rounds: number, seconds: number, connections: number, say: (text: string) => void }} plan
 * `seconds` of one service in one round. The first server is the one with live bytes.
 * @returns {Promise<{ rounds: Record<string, Round[]>, live: Series }>}
 */
export async function measure({ servers, rounds, seconds, connections, say }) {
  /** @type {Series} */
  const live = [];
  const taken = Object.fromEntries(servers.map(({ title }) => [title, []]));
  for (const server of servers) await oneRound(server, connections, Math.min(3, seconds), undefined); // warm-up
  for (let round = 0; round < rounds; round++) {
    for (const [i, server] of servers.entries()) {
      const result = await oneRound(server, connections, seconds, i === 0 ? live : undefined);
      say(`round ${round + 1} of ${rounds}, ${server.title}: ${Math.round(perSecond(result))} requests/s`);
      taken[server.title].push(result);
    }
  }
  return { rounds: taken, live };
}

/** @param {Round} round */
export const perSecond = ({ load }) => (load.answers[200] ?? 0) / load.seconds;

/** Sends SIGTERM under load. @param {import('./servers.mjs').Server} server */
export async function endUnderLoad(server, connections) {
  const { result, answered } = clients(server.url, connections, 600);
  await answered;
  const status = await server.end('SIGTERM');
  const [, begun, done] = /ended: (\d+) requests begun, (\d+) answered/.exec(server.output) ?? [];
  return { status, load: await result, begun: Number(begun), answered: Number(done) };
}
