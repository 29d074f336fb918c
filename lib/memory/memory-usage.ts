/**
 * Makes `process.memoryUsage().external` include the bytes of tensors. They are reported to V8 with
 * napi_adjust_external_memory and count for collections, but several versions (including Node 20's) omit them from this
 * figure. For those this module adds them.
 */
import { getHeapStatistics } from 'node:v8';
import type { Native } from '../addon/native';

type MemoryUsage = typeof process.memoryUsage;

/** One entry per loaded copy of the library (Jest loads one per test file). */
interface Patched {
  sources: Set<() => number>;
}

const mark = Symbol.for('libtorch-node.memoryUsage');
const PROBE_BYTES = 1024 * 1024;

/**
 * The same figure as `process.memoryUsage().external`. That reads /proc besides, so it throws where there is none, as in some
 * sandboxes, and Node aborts in it if the program has closed one of its standard streams.
 */
const externalNow = () => getHeapStatistics().external_memory;

/** Whether V8 includes adjusted bytes in the figure, so that it needs no addition. */
function isShownByV8(native: Native): boolean {
  const before = externalNow();
  native.adjustExternal(PROBE_BYTES);
  const after = externalNow();
  native.adjustExternal(-PROBE_BYTES);
  return after - before > PROBE_BYTES / 2;
}

/** Undefined where the figure needs no addition. */
let patched: Patched | undefined;

/** Makes `process.memoryUsage().external` of this thread include the bytes of its tensors. */
export function showInMemoryUsage(native: Native): void {
  const current = process.memoryUsage as MemoryUsage & { [mark]?: Patched };
  patched = current[mark];
  if (patched === undefined && isShownByV8(native)) return;
  patched ??= patch(current);
  patched.sources.add(() => native.reportedBytes());
}

function patch(current: MemoryUsage): Patched {
  const made: Patched = { sources: new Set() };
  const memoryUsage = function memoryUsage(): NodeJS.MemoryUsage {
    const usage = current.call(process);
    usage.external += added(made);
    return usage;
  };
  process.memoryUsage = Object.assign(memoryUsage, { rss: current.rss, [mark]: made });
  return made;
}

function added({ sources }: Patched): number {
  let sum = 0;
  for (const bytes of sources) sum += bytes();
  return sum;
}

/** `heapUsed` and `external` of `process.memoryUsage()`, from V8 alone (see `externalNow`). */
export function heapFigures(): { heapUsed: number; external: number } {
  const { used_heap_size, external_memory } = getHeapStatistics();
  return { heapUsed: used_heap_size, external: external_memory + (patched === undefined ? 0 : added(patched)) };
}
