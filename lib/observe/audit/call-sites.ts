/**
 * V8's call sites from the `Error` of a realm of this module's own. A program may freeze its `Error` (`--frozen-intrinsics`, SES)
 * or replace what it has. V8 asks the realm of the holder for `prepareStackTrace`, and that of `captureStackTrace` for the limit.
 */
import { runInNewContext } from 'node:vm';

interface Realm {
  Error: typeof Error;
  holder(): { stack?: unknown };
}

/** Made on first use, which takes some milliseconds. */
let realm: Realm | undefined;

function makeRealm(): Realm {
  return runInNewContext('Error.prepareStackTrace = (error, sites) => sites; ({ Error, holder: () => ({}) })');
}

/** At most `limit` call sites, from the caller of `below` on; none in a runtime that has none. */
export function callSites(limit: number, below: (...args: never[]) => unknown): NodeJS.CallSite[] {
  realm ??= makeRealm();
  const holder = realm.holder();
  realm.Error.stackTraceLimit = limit;
  realm.Error.captureStackTrace(holder, below);
  return Array.isArray(holder.stack) ? holder.stack : [];
}
