/** AbortSignals: one listener per signal, however many calls share it, because Node warns about many listeners. */
import type { Signal } from '../../types/base';

const listeners = new WeakMap<Signal, Set<() => void>>();

/** Calls `listener` when the signal is aborted. The returned function removes the listener. */
export function onAbort(signal: Signal, listener: () => void): () => void {
  let all = listeners.get(signal);
  if (all === undefined) {
    all = new Set();
    listeners.set(signal, all);
  }
  const set = all;
  const abort = () => {
    listeners.delete(signal);
    for (const each of set) each();
  };
  if (set.size === 0) {
    (signal as AbortSignal).addEventListener('abort', abort, { once: true });
    stops.set(set, () => (signal as AbortSignal).removeEventListener('abort', abort));
  }
  set.add(listener);
  return () => {
    if (!set.delete(listener) || set.size > 0) return;
    if (listeners.get(signal) === set) listeners.delete(signal);
    stops.get(set)?.();
  };
}

const stops = new WeakMap<Set<() => void>, () => void>();
