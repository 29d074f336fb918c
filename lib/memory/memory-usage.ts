/**
 * Makes `process.memoryUsage().external` include the bytes of tensors. They are reported to V8 with
 * napi_adjust_external_memory and count for collections, but several versions (including Node 20's) omit them from this
 * figure. For those this module adds them.
 */
import type { Native } from '../addon/native';

type MemoryUsage = typeof process.memoryUsage;

/** One entry per loaded copy of the library (Jest loads one per test file). */
interface Patched {
  sources: Set<() => number>;
}

const mark = Symbol.for('libtorch-node.memoryUsage');
const PROBE_BYTES = 1024 * 1024;

/** Null where Node cannot tell: without /proc, as in some sandboxes, `memoryUsage` throws. */
function externalNow(): number | null {
  try {
    return process.memoryUsage().external;
  } catch {
    return null;
  }
}

/** Whether the figure needs no addition: V8 includes adjusted bytes in it, or there is none. */
function isShownByV8(native: Native): boolean {
  const before = externalNow();
  if (before === null) return true;
  native.adjustExternal(PROBE_BYTES);
  const after = externalNow();
  native.adjustExternal(-PROBE_BYTES);
  return after === null || after - before > PROBE_BYTES / 2;
}

/** Makes `process.memoryUsage().external` of this thread include the bytes of its tensors. */
export function showInMemoryUsage(native: Native): void {
  const current = process.memoryUsage as MemoryUsage & { [mark]?: Patched };
  if (current[mark] !== undefined) {
    current[mark].sources.add(() => native.reportedBytes());
    return;
  }
  if (isShownByV8(native)) return;
  const sources = new Set([() => native.reportedBytes()]);
  const memoryUsage = function memoryUsage(): NodeJS.MemoryUsage {
    const usage = current.call(process);
    for (const bytes of sources) usage.external += bytes();
    return usage;
  };
  process.memoryUsage = Object.assign(memoryUsage, { rss: current.rss, [mark]: { sources } });
}
