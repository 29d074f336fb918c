/**
 * Which scope a continuation belongs to. Synchronous code never asks: the native table knows the current scope. Only
 * while an async scope is open does a new tensor outside every synchronous scope look here.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

const storage = new AsyncLocalStorage<number>();
let openAsyncScopes = 0;

/** The id of the async scope of this continuation, 0 for none. */
export function currentAsyncScope(): number {
  return openAsyncScopes === 0 ? 0 : (storage.getStore() ?? 0);
}

/** Runs `fn` so that it and everything it awaits belong to `scope`. */
export function runInAsyncScope<T>(scope: number, fn: () => T): T {
  return storage.run(scope, fn);
}

export function asyncScopeOpened(): void {
  openAsyncScopes++;
}

export function asyncScopeClosed(): void {
  openAsyncScopes--;
}
