/**
 * Tests the library for doctor, in a separate process that sends the result of each step: if the addon crashes, only this
 * process ends, and the last step shows where.
 */
import * as fs from 'node:fs';
import * as v8 from 'node:v8';

/** The result of each step. */
export interface ProbeResults {
  load: { addon: string | null; libraries: string[] };
  library: { libtorch: string; config: string; threads: number; cudaDevices: number };
  op: { expected: number; got: number };
  /** The fastest product of two 128×128 float32 matrices. */
  blas: { mmMicroseconds: number };
  collector: CollectorResult;
  /** `rss` is null without /proc, as in some sandboxes. */
  memory: { rss: number | null; heapLimit: number };
}

export interface CollectorResult {
  /** Number of tensors of 1 MiB that were made. */
  made: number;
  /** Increase of process.memoryUsage().external while they were live; null without /proc. */
  externalRose: number | null;
  /** Unreferenced tensors that are live after a collection in the same turn of the event loop. */
  alive: number;
  /** Number of tensors that a loop then made and dropped, with only V8's own collections. */
  looped: number;
  /** Maximum number of them that were live. */
  peak: number;
}

export type ProbeMessage =
  | { step: keyof ProbeResults; value: ProbeResults[keyof ProbeResults] }
  | { step: keyof ProbeResults; error: { code: string | null; message: string } };

type Torch = typeof import('../../types');

const MADE = 64;
const LOOPED = 8 * MADE;
const MIB = 2 ** 20;

function step<K extends keyof ProbeResults>(name: K, fn: () => ProbeResults[K]): boolean {
  try {
    send({ step: name, value: fn() });
    return true;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    send({ step: name, error: { code: code ?? null, message: message ?? String(error) } });
    return false;
  }
}

const send = (message: ProbeMessage): void => {
  process.send!(message);
};

/** The relevant libraries that this process has loaded. */
function loadedLibraries(): string[] {
  const report = process.report.getReport() as unknown as { sharedObjects?: string[] };
  return (report.sharedObjects ?? [])
    .filter((file) => /lib(torch|c10|.*blas|mkl|gomp|iomp|omp|cudart)[^/]*$/i.test(file))
    .map((file) => {
      try {
        return fs.realpathSync(file);
      } catch {
        return file; // replaced on disk after loading
      }
    });
}

function fastestMm(torch: Torch): number {
  return torch.scope(() => {
    const a = torch.ones([128, 128]);
    let best = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 30; i++) {
      const start = process.hrtime.bigint();
      torch.mm(a, a).dispose();
      best = Math.min(best, Number(process.hrtime.bigint() - start) / 1000);
    }
    return best;
  });
}

function residentBytes(): number | null {
  try {
    return process.memoryUsage.rss();
  } catch {
    return null; // no /proc
  }
}

/** What V8 counts outside its heap. `process.memoryUsage()` reads /proc besides. */
function externalBytes(): number | null {
  try {
    return process.memoryUsage().external;
  } catch {
    return null; // no /proc
  }
}

/** Makes 64 MiB of tensors, drops and collects them: are they freed at once, and does V8 count their bytes? */
function tryCollector(torch: Torch): CollectorResult {
  const collect = globalThis.gc as () => void; // the process is started with --expose-gc
  collect();
  const before = torch.memory().tensors;
  const make = () => torch.zeros([MIB / 4]);
  const external = externalBytes();
  let held: unknown[] = Array.from({ length: MADE }, make);
  const now = externalBytes();
  const externalRose = now === null || external === null ? null : now - external;
  held = [];
  collect();
  const alive = torch.memory().tensors - before;
  let peak = 0;
  for (let i = 0; i < LOOPED; i++) {
    make();
    peak = Math.max(peak, torch.memory().tensors - before);
  }
  return { made: MADE + held.length, externalRose, alive, looped: LOOPED, peak };
}

function main(): void {
  let torch: Torch | undefined;
  const loaded = step('load', () => {
    torch = require('libtorch-node') as Torch;
    const addon = Object.keys(require.cache).find((file) => file.endsWith('.node')) ?? null;
    return { addon, libraries: loadedLibraries() };
  });
  if (loaded && torch !== undefined) {
    const t = torch;
    step('library', () => ({
      libtorch: t.libtorchVersion,
      config: t.showConfig(),
      threads: t.getNumThreads(),
      cudaDevices: t.cuda.deviceCount(),
    }));
    step('op', () => ({ expected: 6, got: Number(t.scope(() => t.ones([2, 3]).sum().item())) }));
    // Before the other steps, which leave memory in malloc that a program does not have at its start.
    step('memory', () => ({ rss: residentBytes(), heapLimit: v8.getHeapStatistics().heap_size_limit }));
    step('blas', () => ({ mmMicroseconds: fastestMm(t) }));
    step('collector', () => tryCollector(t));
  }
  process.disconnect!();
}

main();
