/**
 * The function of torch.run where it goes on after an `await`: what it calls then is recorded as before it. Node's hooks
 * tell what was started in it (a promise's continuation, a timer), and when that begins and ends. They are on only while an
 * async function of torch.run is under way.
 */
import { createHook, executionAsyncResource } from 'node:async_hooks';
import { setImmediate } from 'node:timers';
import { types } from 'node:util';
import { bodyNow, bodyOf, NOTHING, type Recorder, type Recording, recordingNow, switchTo } from './pending';

/** A recorder that knows whether its function's code is still to be recorded. */
interface Body extends Recorder {
  readonly goesOn: boolean;
}

const BODY_OF = Symbol('torch.run');
interface Resource {
  [BODY_OF]?: Body;
}

/** Runs around the present one, and what was being recorded there. */
const around: { asyncId: number; outer: Recording }[] = [];
/** Async functions under way. */
let open = 0;

function init(_asyncId: number, _type: string, _triggerId: number, resource: Resource): void {
  const body = bodyNow() as Body | null;
  if (body !== null) resource[BODY_OF] = body;
}

function before(asyncId: number): void {
  const resource = executionAsyncResource() as Resource;
  // A continuation never runs inside other code: what is in progress was left so by a run without an end.
  const isContinuation = types.isPromise(resource);
  if (isContinuation) around.length = 0;
  around.push({ asyncId, outer: isContinuation ? NOTHING : recordingNow() });
  const body = resource[BODY_OF];
  switchTo(body?.goesOn ? bodyOf(body) : NOTHING);
}

function after(asyncId: number): void {
  let index = around.length - 1;
  while (index >= 0 && around[index]!.asyncId !== asyncId) index--;
  const outer = index < 0 ? NOTHING : around[index]!.outer;
  if (index >= 0) around.length = index;
  switchTo(outer);
}

const hooks = createHook({ init, before, after });

/** An async function begins. */
function follow(): void {
  if (open++ === 0) hooks.enable();
}

/** It has ended. Not at once: Node loses count of async ids where hooks are disabled inside a promise's continuation. */
function followNoMore(): void {
  setImmediate(() => {
    if (--open > 0) return;
    hooks.disable();
    around.length = 0;
    switchTo(NOTHING); // no hook says that this run ends
  }).unref();
}

/** Async functions that never end, once nobody can hear of their end. */
const abandoned = new FinalizationRegistry<undefined>(followNoMore);

/** Runs an async function: what it calls is followed until it has ended, also after its torch.run was aborted. */
export function followed(body: () => Promise<unknown>): Promise<unknown> {
  follow();
  let made: Promise<unknown>;
  try {
    made = body();
  } catch (error) {
    followNoMore(); // no stack left, say
    throw error;
  }
  const token = {};
  abandoned.register(made, undefined, token);
  const end = () => {
    abandoned.unregister(token);
    followNoMore();
  };
  made.then(end, end);
  return made;
}
