/**
 * LIBTORCH_NODE_DEBUG=1: the error of a tensor that was used after its end says where the tensor was made, and where and
 * how it ended. Decided once, when the library is loaded; without the variable nothing here runs.
 */
import { completeDisposed, type TorchError } from './errors';
import { type Native, native } from './native';
import { restoring } from './turn';
import { callerSite, type Demand, siteLine, siteText, watch } from './watch';

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

/** Runs `free` so that the tensors that end in it remember why and where. */
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
  const lines = death === undefined ? ['(its end is not remembered: only the last 10,000 are)'] : [];
  if (death !== undefined) {
    const [born, causeNumber, freed] = death;
    const cause = causes[causeNumber]!;
    error.created = siteText(native, born) ?? undefined;
    error.disposed = siteText(native, freed) ?? undefined;
    error.disposedBy = cause;
    lines.push(`created at ${siteLine(native, born) ?? 'a place that is unknown'}`);
    lines.push(
      freed === 0
        ? causeTexts[cause]
        : `${causeTexts[cause]} at ${siteLine(native, freed) ?? 'a place that is unknown'}`,
    );
  }
  const { message, stack } = error;
  error.message = `${message}\n  ${lines.join('\n  ')}`;
  // V8 wrote the message into the stack already.
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
