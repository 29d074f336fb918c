/** Starts the ranks of a group on this machine, in Node and in Python. */
import * as net from 'node:net';
import * as path from 'node:path';
import type { Outcome } from '../../support/child';
import { type Running, startProgram } from '../../support/program';
import { LIB } from '../../support/torch';
import { withoutGloo } from '../ranks';

export type Language = 'node' | 'python';

export const fixture = (name: string): string => path.join(__dirname, name);

/** A port that was free just now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as net.AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

/** One rank of `size` that meet at `port`. */
export function startRank(
  language: Language,
  name: string,
  place: { rank: number; size: number; port: number },
  env: Record<string, string> = {},
  stdin: 'ignore' | 'pipe' = 'ignore',
): Running {
  const whole = {
    ...process.env,
    ...{ LIB: `${LIB}/index.js`, MASTER_ADDR: '127.0.0.1', MASTER_PORT: String(place.port) },
    ...{ OMP_NUM_THREADS: '1', USE_LIBUV: '0' },
    GLOO_SOCKET_IFNAME: 'lo', // otherwise some releases warn that they do not know the host's name
    ...{ RANK: String(place.rank), WORLD_SIZE: String(place.size) },
    ...env,
  };
  return language === 'node'
    ? startProgram(process.execPath, [fixture(`${name}.cjs`)], whole, stdin)
    : startProgram('/usr/bin/python3', [fixture(`${name}.py`)], whole, stdin);
}

/** One process for each language in the list; its index is its rank. */
export async function startRanks(
  languages: readonly Language[],
  name: string,
  env: Record<string, string> = {},
): Promise<Running[]> {
  const port = await freePort();
  return languages.map((language, rank) => startRank(language, name, { rank, size: languages.length, port }, env));
}

/** The lines that each rank printed as JSON objects (others are skipped); all must have succeeded. */
export async function answers(ranks: readonly Running[]): Promise<any[][]> {
  const ended: Outcome[] = await Promise.all(ranks.map((rank) => rank.ended));
  expect(
    ended.map(({ code, signal, stderr }) => ({ code, signal, stderr: code === 0 ? '' : withoutGloo(stderr) })),
  ).toEqual(ended.map(() => ({ code: 0, signal: null, stderr: '' })));
  return ended.map(({ stdout }) =>
    stdout
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line)),
  );
}
