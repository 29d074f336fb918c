/** `torch.capture`: records the ops of a function once, and replays them in one native call. See docs/capture.md. */
import { types } from 'node:util';
import { native } from '../addon/native';
import { Weak } from '../addon/weak';
import { argumentError, codedError, describe, type TorchError } from '../errors/errors';
import { restoring } from '../errors/restoring';
import { Flag, RecordingMode } from '../generated/codes';
import { enter, now } from '../lifetimes/context';
import { ownScope } from '../lifetimes/scope';
import { pendingInput, recordBody } from '../tensor/pending';
import { isGenuine, type Tensor, wrap, wrapElement } from '../tensor/tensor';
import { CaptureStrand, type Switched } from './strand';
import { build, type Template, templateOf } from './template';

/** A function of `torch.capture`. */
export interface Captured<A extends readonly unknown[], R> {
  (...args: A): R;
  /** Why the last call ran the function itself; null if it was a replay, or before the first call. */
  readonly reason: string | null;
  /** How many times the function was recorded: once for each combination of shapes, dtypes and other arguments. */
  readonly recordings: number;
  /** Calls that were replays. */
  readonly replays: number;
  /** Calls that ran the function itself. */
  readonly fallbacks: number;
  readonly disposed: boolean;
  /** Releases what was recorded, and with it the tensors of the closure. Later calls throw. */
  dispose(): void;
  [Symbol.dispose](): void;
}

type Fn = (...args: unknown[]) => unknown;

/** What one recording was made for, and what it gave. */
interface Entry {
  readonly token: Tensor;
  /** `this` of the call: an object is not kept alive. */
  readonly self: unknown;
  /** For each argument: a tensor's first position among the arguments, or the value. */
  readonly pattern: readonly Argument[];
  /** The modes of the modules that the function calls. */
  readonly modes: readonly Mode[];
  readonly template: Template;
  readonly outputs: number;
}

/** A module is not kept alive. */
interface Mode {
  readonly module: Weak<Switched>;
  readonly training: boolean;
}

/** `first`: the first position of the same tensor; -1 for another value. */
interface Argument {
  readonly first: number;
  readonly value: unknown;
}

/** The most recordings of a function; calls that need another one run the function itself. */
const MAX_RECORDINGS = 8;

/** Errors that say that a function cannot be captured, whatever its arguments. */
const refusals = new Set(['ERR_TORCH_CAPTURE', 'ERR_TORCH_PENDING']);

/** What a program calls, by the native function that cannot be recorded. */
const callers: Readonly<Record<string, string>> = {
  autocastSet: 'torch.autocast',
  free: 'dispose() of a tensor from outside the function',
  fromBorrowed: 'torch.fromTypedArray',
  functionBegin: 'a function of autograd.Function',
  shareSweepIsDue: 'share()',
  strandRequireRead: 'a read of a tensor from outside the function',
};

/** The message of a refusal as one sentence: without the lines that follow, and with the name that the program knows. */
function inWords(message: string): string {
  const line = message.split('\n', 1)[0]!;
  const [, name, text] = /^([\w:.]+): (.*)$/.exec(line) ?? [];
  if (name === undefined || text === undefined) return line;
  if (name === 'captureEnd') return inWords(text); // it may be an error that the function has caught
  if (text.startsWith('cannot be replayed')) return `${callers[name] ?? name} ${text}`; // native/ops/record.cpp
  return /^(torch\.)?(capture|run)$/.test(name) ? text : line;
}

const { flags } = native;

/** The function of a capture that was disposed of, which no call reaches. */
const gone = () => {};

class Capture {
  reason: string | null = null;
  recordings = 0;
  replays = 0;
  fallbacks = 0;
  disposed = false;
  private entries: Entry[] = [];
  /** Why no call can be a replay. */
  private refused: string | null = null;

  constructor(
    private fn: Fn,
    private readonly caller: () => unknown,
  ) {}

  call(self: unknown, args: readonly unknown[]): unknown {
    if (this.disposed) throw codedError(Error, 'ERR_TORCH_DISPOSED', 'capture: the captured function was disposed');
    const { fn } = this; // it may dispose of the capture
    // Inside torch.run or another capture its ops are recorded there.
    if (flags[Flag.Recording] !== RecordingMode.Off) return Reflect.apply(fn, self, args);
    if (this.refused !== null) return this.fallBack(fn, self, args, this.refused);
    const handles: number[] = [];
    for (let i = 0; i < args.length; i++) {
      const arg = args[i];
      if (isGenuine(arg) && arg._handle > 0) handles.push(arg._handle);
      else if ((typeof arg === 'object' && arg !== null) || typeof arg === 'function') {
        const why = `expected tensors, numbers, strings and booleans, got ${describe(arg)} as argument ${i + 1}`;
        return this.fallBack(fn, self, args, why);
      }
    }
    const found = this.replay(self, args, handles);
    if (found !== undefined) return found.result;
    if (this.entries.length >= MAX_RECORDINGS) this.forget(isGone);
    if (this.entries.length >= MAX_RECORDINGS) {
      return this.fallBack(fn, self, args, `it was recorded for ${MAX_RECORDINGS} other combinations of arguments`);
    }
    const why = this.record(fn, self, args, handles);
    if (why !== null) return this.fallBack(fn, self, args, why);
    const first = this.replay(self, args, handles);
    // An argument may have been changed by code of the program that the recording ran.
    return first === undefined ? this.fallBack(fn, self, args, 'its arguments changed meanwhile') : first.result;
  }

  private replay(self: unknown, args: readonly unknown[], handles: readonly number[]): { result: unknown } | undefined {
    const { entries } = this;
    for (let i = 0; i < entries.length; i++) {
      const { token, self: recorded, pattern, modes, template, outputs } = entries[i]!;
      if (!isSame(recorded, self) || !fits(pattern, args) || !areIn(modes)) continue;
      const raw = replayed(token, handles, args);
      if (raw === false) continue;
      this.replays++;
      this.reason = null;
      if (outputs === 1) return { result: build(template, [wrap(raw)], args) };
      return { result: build(template, outputs === 0 ? [] : (raw as unknown[]).map(wrapElement), args) };
    }
    return undefined;
  }

  /** Returns why the function cannot be replayed, or null. */
  private record(fn: Fn, self: unknown, args: readonly unknown[], handles: readonly number[]): string | null {
    if (types.isAsyncFunction(fn)) return this.refuse('it is an async function');
    const site: { stack?: unknown } = {};
    let strand: CaptureStrand | undefined;
    try {
      strand = new CaptureStrand(this.caller as () => never, site, handles);
      const { given, inputs } = placeholders(strand, args);
      strand.inputs = inputs;
      const recorder = strand;
      let result: unknown;
      ownScope(() => {
        result = recordBody(recorder, () => Reflect.apply(fn, self, given));
      }, false);
      if (strand.refused !== null) return this.refuse(strand.refused);
      const { template, codes } = templateOf(result, strand, inputs);
      const token = ownedByCollector(() => wrap(native.captureEnd(recorder.id, handles, codes)));
      const isObject = (typeof self === 'object' && self !== null) || typeof self === 'function';
      const receiver = isObject ? new Weak(self as object) : self;
      const [pattern, modes, outputs] = [patternOf(args), modesOf(strand), codes.length];
      this.entries.push({ token: token!, self: receiver, pattern, modes, template, outputs });
      this.recordings++;
      if (!this.disposed) return null;
      this.forget(() => true);
      return this.refuse('it disposes of its own recordings');
    } catch (error) {
      const { code, message } = Object(error) as TorchError;
      if (strand !== undefined && strand.refused !== null) return this.refuse(strand.refused);
      if (refusals.has(code)) return this.refuse(inWords(message));
      return 'it threw while it was recorded'; // the call itself shows the error, if it is one of the function
    } finally {
      strand?.close();
    }
  }

  private refuse(why: string): string {
    this.refused = why;
    return why;
  }

  private fallBack(fn: Fn, self: unknown, args: readonly unknown[], why: string): unknown {
    this.reason = why;
    this.fallbacks++;
    return Reflect.apply(fn, self, args);
  }

  dispose(): void {
    if (this.disposed) return;
    this.disposed = true;
    this.fn = gone; // a program may keep the capture longer than what its function refers to
    this.forget(() => true);
  }

  private forget(which: (entry: Entry) => boolean): void {
    const left = this.entries.filter((entry) => !which(entry));
    for (const entry of this.entries) if (!left.includes(entry)) entry.token.dispose();
    this.entries = left;
  }
}

function replayed(token: Tensor, handles: readonly number[], args: readonly unknown[]): unknown {
  try {
    return native.captureReplay(token._handle, handles);
  } catch (error) {
    const at = args.findIndex((arg) => isGenuine(arg) && !native.isLive(arg._handle));
    if ((Object(error) as TorchError).code !== 'ERR_TORCH_DISPOSED' || at === -1) throw error;
    const message = `capture: argument ${at + 1}: expected a tensor, got one that was disposed`; // native code has only a list
    throw codedError(Error, 'ERR_TORCH_DISPOSED', message);
  }
}

/** Whether a recording was made with this value of `this`. An object that was collected is not undefined. */
const isSame = (recorded: unknown, self: unknown): boolean =>
  recorded instanceof Weak ? self !== undefined && recorded.get() === self : recorded === self;

/** Not of modules that the function itself switches around their call. */
const modesOf = ({ modules }: CaptureStrand): Mode[] =>
  [...modules]
    .filter(([module, training]) => module.training === training)
    .map(([module, training]) => ({ module: new Weak(module), training }));

function areIn(modes: readonly Mode[]): boolean {
  for (let i = 0; i < modes.length; i++) {
    const module = modes[i]!.module.get();
    if (module !== undefined && module.training !== modes[i]!.training) return false;
  }
  return true;
}

const isGone = ({ self }: Entry): boolean => self instanceof Weak && self.get() === undefined;

const firstOf = (args: readonly unknown[], at: number) => (isGenuine(args[at]) ? args.indexOf(args[at]) : -1);

const patternOf = (args: readonly unknown[]): Argument[] =>
  args.map((arg, i) => ({ first: firstOf(args, i), value: isGenuine(arg) ? undefined : arg }));

function fits(pattern: readonly Argument[], args: readonly unknown[]): boolean {
  if (pattern.length !== args.length) return false;
  for (let i = 0; i < args.length; i++) {
    const { first, value } = pattern[i]!;
    const arg = args[i];
    if (first >= 0 ? !isGenuine(arg) || args.indexOf(arg) !== first : !Object.is(arg, value)) return false;
  }
  return true;
}

/** The arguments with pending tensors for tensors, and the position of each pending tensor among the arguments. */
function placeholders(strand: CaptureStrand, args: readonly unknown[]) {
  const inputs = new Map<unknown, number>();
  const known = new Map<unknown, Tensor>();
  let next = 0;
  const given = args.map((arg, i) => {
    if (!isGenuine(arg)) return arg;
    const input = pendingInput(strand, next++);
    const made = known.get(arg);
    if (made !== undefined) return made;
    known.set(arg, input);
    inputs.set(input, i);
    return input;
  });
  return { given, inputs };
}

/** Runs `fn` outside every scope. */
function ownedByCollector<T>(fn: () => T): T {
  const { current } = now;
  return restoring(
    () => enter(current),
    () => {
      enter(null);
      return fn();
    },
  );
}

/**
 * Returns a function with the same results as `fn`, to the bit. The first call for given shapes, dtypes and other arguments
 * records the ops that `fn` calls; later ones replay them in one native call, without running `fn`. A function that cannot be
 * replayed, for example because it reads a value, runs as it is: `reason` then says why. See docs/capture.md.
 *
 * @throws ERR_TORCH_ARGUMENT if `fn` is not a function
 */
export function capture<A extends readonly unknown[], R>(fn: (...args: A) => R): Captured<A, R>;
export function capture(fn: unknown): unknown {
  if (typeof fn !== 'function') throw argumentError('capture', 'fn', 'a function', fn);
  const made = new Capture(fn as Fn, capture as () => unknown);
  const captured = function (this: unknown, ...args: unknown[]): unknown {
    return made.call(this, args);
  };
  const getter = (name: 'reason' | 'recordings' | 'replays' | 'fallbacks' | 'disposed') => ({
    get: () => made[name],
    enumerable: true,
  });
  const dispose = () => made.dispose();
  return Object.defineProperties(captured, {
    name: { value: (fn as Fn).name },
    length: { value: (fn as Fn).length },
    reason: getter('reason'),
    recordings: getter('recordings'),
    replays: getter('replays'),
    fallbacks: getter('fallbacks'),
    disposed: getter('disposed'),
    dispose: { value: dispose },
    [Symbol.dispose]: { value: dispose },
  });
}
