/** Starts the built service on a free port, asks it, and ends it; and makes models for it. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startHttpService } from '../support/http-service';
import { once } from '../support/once';
import { startProgram } from '../support/program';
import { python3 } from '../support/python3';
import { limitMs } from '../support/sanitized';
import { ROOT } from '../support/torch';

export { sleep };
export const PIXELS = 28 * 28;

/** A limit for tests that start services, and for beforeAll: a busy machine starts processes slowly. */
export const LIMIT_MS = limitMs(300_000);

/** Options with which requests never time out waiting for a batch. */
export const PATIENT = ['--queue-timeout', '600000'];

/** Without keep-alive, because the service would wait for open connections when it ends. */
const CLOSING = { connection: 'close' };

export interface Health {
  status: string;
  model: { version: string; problem: string | null };
  waiting: number;
  running: number;
  workers: { pid: number; ready: boolean; restarts: number }[];
  memory: { tensors: number; bytes: number };
}

export interface Answer {
  status: number;
  headers: Headers;
  body: any;
}

export type Service = Awaited<ReturnType<typeof startService>>;

/** The models of models.py, made once in a run of Jest, and a folder of this test file; `remove` deletes the folder. */
export async function makeModels() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ltn-service-'));
  const shared = await once('service-models', async (at) => {
    const script = path.join(ROOT, 'test/service/models.py');
    const { code, stderr } = await python3([script, at], { limitMs: 300_000 });
    if (code !== 0) throw new Error(`PyTorch made no models: ${stderr}`);
  });
  const pathOf = (name: string) => path.join(shared, `${name}.pt`);
  return {
    pathOf,
    /** A file that does not exist yet. */
    newFile: (name: string) => path.join(folder, `${name}.pt`),
    /** A copy, to be replaced. */
    copyOf(name: string): string {
      const file = path.join(folder, `served-${fs.readdirSync(folder).length}.pt`);
      fs.copyFileSync(pathOf(name), file);
      return file;
    },
    remove: () => fs.rmSync(folder, { recursive: true, force: true }),
  };
}

/** The model runs as scripted: tests count its tensors, and a choice by measured times may differ each time. */
export async function startService(model: string, args: string[] = []) {
  const service = await startHttpService('service/main.js', ['--model', model, '--port', '0', '--scripted', ...args]);
  const { url } = service;
  const get = (where: string) => fetch(`${url}${where}`, { headers: CLOSING });
  const health = async () => (await (await get('/health')).json()) as Health;
  /** The service's state, once it satisfies `wanted`. */
  const when = async (wanted: (health: Health) => boolean): Promise<Health> => {
    for (;;) {
      const now = await health();
      if (wanted(now)) return now;
      await sleep(20);
    }
  };
  return {
    ...service,
    get,
    health,
    when,
    async post(body: string | Uint8Array<ArrayBuffer>, type = 'application/json'): Promise<Answer> {
      const headers = { ...CLOSING, 'content-type': type };
      const answer = await fetch(`${url}/classify`, { method: 'POST', body, headers });
      return { status: answer.status, headers: answer.headers, body: await answer.json() };
    },
    /** Resolves when a batch runs; or if `asked` is already answered, on a busy machine. */
    busy: (asked: Promise<unknown>) => Promise.race([when(({ running }) => running === 1), asked]),
    /** The figures of /metrics, by name and labels as printed. */
    async metrics(): Promise<Map<string, number>> {
      const lines = (await (await get('/metrics')).text()).split('\n').filter((line) => /^[a-z]/.test(line));
      return new Map(lines.map((line) => [line.replace(/ \S+$/, ''), Number(/ (\S+)$/.exec(line)![1])]));
    },
    /** Resolves when the memory of tensors is the same as then: nothing has leaked. */
    settled: ({ memory }: Health) =>
      when(
        (now) =>
          now.waiting + now.running === 0 && now.memory.tensors === memory.tensors && now.memory.bytes === memory.bytes,
      ),
    /** Shuts it down gracefully; `asked` if that has already begun. */
    async end(asked = false): Promise<{ answered: number; gone: number }> {
      const { stdout } = await service.end(asked);
      const last = /\nended: (\d+) requests begun, (\d+) answered, (\d+) clients gone before\n$/.exec(stdout)!;
      const [begun, answered, gone] = last.slice(1).map(Number) as [number, number, number];
      expect(answered + gone).toBe(begun);
      return { answered, gone };
    },
  };
}

/** A picture that starts with the given pixels. */
export const picture = (...first: number[]): number[] => [...first, ...new Array(PIXELS - first.length).fill(0)];
export const question = (...first: number[]): string => JSON.stringify({ pixels: picture(...first) });

/** Clients in a separate process: bench/service/load.mjs. */
export function startClients(options: {
  url: string;
  connections: number;
  seconds: number;
  requests?: number;
  first?: number;
}) {
  const program = startProgram(process.execPath, [
    path.join(ROOT, 'bench/service/load.mjs'),
    JSON.stringify({ digits: 20, ...options }),
  ]);
  const result = program.ended.then(({ code, stdout, stderr }) => {
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout.trimEnd().split('\n').at(-1)!);
  });
  return { ...program, allAnswered: () => program.shows(/^all answered\n/), result };
}
