/**
 * Records the function of torch.run across `await`: what it calls afterwards is recorded like before. Node's async hooks
 * report what was started in it (a promise's continuation, a timer), and when that begins and ends. They are enabled only
 * while an async function of torch.run is in progress.
 */
import { createHook, executionAsyncResource } from 'node:async_hooks';
import { setImmediate } from 'node:timers';
import { types } from 'node:util';
import { bodyNow, bodyOf, NOTHING, type Recorder, type Recording, recordingNow, switchTo } from '../tensor/pending';

/** A recorder that knows whether its function's code is still recorded. */
interface Body extends Recorder {
  readonly isActive: boolean;
}

const BODY_OF = Symbol('torch.run');
interface Resource {
  [BODY_OF]?: Body;
}

/** The runs enclosing the current one, and what was being recorded there. */
const around: { asyncId: number; outer: Recording }[] = [];
/** The number of async functions in progress. */
let open = 0;

function init(_asyncId: number, _type: string, _triggerId: number, resource: Resource): void {
  const body = bodyNow() as Body | null;
  if (body !== null) resource[BODY_OF] = body;
}

function before(asyncId: number): void {
  const resource = executionAsyncResource() as Resource;
  // A continuation never runs inside other code: entries left here are from a run whose end was not reported.
  const isContinuation = types.isPromise(resource);
  if (isContinuation) around.length = 0;
  around.push({ asyncId, outer: isContinuation ? NOTHING : recordingNow() });
  const body = resource[BODY_OF];
  switchTo(body?.isActive ? bodyOf(body) : NOTHING);
}

function after(asyncId: number): void {
  let index = around.length - 1;
  while (index >= 0 && around[index]!.asyncId !== asyncId) index--;
  const outer = index < 0 ? NOTHING : around[index]!.outer;
  if (index >= 0) around.length = index;
  switchTo(outer);
}

const hooks = createHook({ init, before, after });

/** Call when an async function begins. */
function follow(): void {
  if (open++ === 0) hooks.enable();
}

/** Call when it ends. Deferred: Node loses count of async ids if hooks are disabled inside a promise's continuation. */
function unfollow(): void {
  setImmediate(() => {
    if (--open > 0) return;
    hooks.disable();
    around.length = 0;
    switchTo(NOTHING); // no hook reports the end of this run
  }).unref();
}

/** Promises of async functions that were collected without settling. */
const abandoned = new FinalizationRegistry<undefined>(unfollow);

/** Runs an async function and follows what it calls until it ends, also after its torch.run was aborted. */
export function followed(body: () => Promise<unknown>): Promise<unknown> {
  follow();
  let made: Promise<unknown>;
  try {
    made = body();
  } catch (error) {
    unfollow(); // such as a stack overflow
    throw error;
  }
  const token = {};
  abandoned.register(made, undefined, token);
  const end = () => {
    abandoned.unregister(token);
    unfollow();
  };
  made.then(end, end);
  return made;
}
