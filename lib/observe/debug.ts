/**
 * LIBTORCH_NODE_DEBUG=1: use-after-dispose errors say where the tensor was created, and where and how it was released. The
 * variable is read once, when the library is loaded; without it nothing here runs.
 */

import { type Native, native } from '../addon/native';
import type { Demand } from '../addon/recorder';
import { completeDisposed, type TorchError } from '../errors/errors';
import { restoring } from '../errors/restoring';
import { callerSite, siteLine, siteText, watch } from './watch';

/** In the order of handles::Watch::Cause. */
const causes = ['collector', 'dispose', 'disposeAll', 'scope'] as const;
type Cause = (typeof causes)[number];

const causeTexts: Record<Cause, string> = {
  collector: 'freed by the garbage collector',
  dispose: 'disposed by dispose()',
  disposeAll: 'disposed by disposeAll()',
  scope: 'released at the end of its scope',
};

const demand: Demand = { sampleBytes: 0, deaths: true };

let disposeCause: Cause = 'dispose';

/** Runs `free` and records why and where its tensors were released. */
function announced<T>(cause: Cause, below: (...args: never[]) => unknown, free: () => T): T {
  const site = callerSite(native, below);
  const undo = () => native.watchAnnounce(0, 0);
  return restoring(undo, () => {
    native.watchAnnounce(causes.indexOf(cause), site);
    return free();
  });
}

function complete(error: TorchError, handle: number): void {
  const death = native.watchDeath(handle);
  const lines = death === undefined ? ['(its release is unknown: only the last 10,000 are recorded)'] : [];
  if (death !== undefined) {
    const [born, causeNumber, freed] = death;
    const cause = causes[causeNumber]!;
    error.created = siteText(native, born) ?? undefined;
    error.disposed = siteText(native, freed) ?? undefined;
    error.disposedBy = cause;
    lines.push(`created at ${siteLine(native, born) ?? 'an unknown place'}`);
    lines.push(
      freed === 0 ? causeTexts[cause] : `${causeTexts[cause]} at ${siteLine(native, freed) ?? 'an unknown place'}`,
    );
  }
  const { message, stack } = error;
  error.message = `${message}\n  ${lines.join('\n  ')}`;
  // The stack includes the old message.
  if (typeof stack === 'string') error.stack = stack.replace(message, () => error.message);
}

/** Called once per copy of the library (Jest loads one per test file), with the module that it exports. */
export function startDebug(exported: Record<string, unknown>): void {
  if (process.env.LIBTORCH_NODE_DEBUG !== '1') return;
  const shared = native as Native & { undebugged?: Pick<Native, 'free' | 'scopeClose'> };
  if (shared.undebugged === undefined) {
    shared.undebugged = { free: native.free, scopeClose: native.scopeClose };
    watch(native, demand);
  }
  const { free, scopeClose } = shared.undebugged;
  const disposeAll = exported.disposeAll as (value: unknown) => void;
  native.free = function debugFree(handle) {
    if (!native.isLive(handle)) return false;
    return announced(disposeCause, debugFree, () => free(handle));
  };
  native.scopeClose = function debugScopeClose(scope) {
    return announced('scope', debugScopeClose, () => scopeClose(scope));
  };
  exported.disposeAll = function debugDisposeAll(value: unknown): void {
    const undo = () => {
      disposeCause = 'dispose';
    };
    restoring(undo, () => {
      disposeCause = 'disposeAll';
      disposeAll(value);
    });
  };
  completeDisposed.with = complete;
}
