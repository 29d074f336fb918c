/** The base class of generated classes for C++ objects other than tensors (Generator, ScriptModule). */

import { native } from '../addon/native';
import { markCopy } from '../errors/copies';
import { argumentError, codedError } from '../errors/errors';
import { tensors } from '../lifetimes/walk';
import type { Tensor } from '../tensor/tensor';

interface Made {
  handle: number;
  guard: unknown;
  token?: Tensor;
}

/** Owns one native object until dispose(), until the end of its scope if it has a token, or until the collector drops it. */
export class NativeObject {
  readonly _class: string;
  readonly _handle: number;
  readonly _guard: unknown;
  /** For an object with the lifetime of a tensor: its token tensor (native/handles/holder.h). No op takes it. */
  declare readonly _token?: Tensor;

  constructor(className: string, make: () => Made) {
    if (typeof make !== 'function') {
      throw codedError(TypeError, 'ERR_TORCH_ARGUMENT', 'ScriptModule: use torch.jit.load to make one');
    }
    const { handle, guard, token } = make();
    this._class = className;
    this._handle = handle;
    this._guard = guard;
    if (token !== undefined) this._token = token;
  }

  /** Whether the object was released. */
  get disposed(): boolean {
    const handle = handleOf(this);
    return !(this._token === undefined ? native.isLiveGenerator(handle) : native.isLive(handle));
  }

  /** Releases the object now. Further calls do nothing. */
  dispose(): void {
    release(this);
  }

  [Symbol.dispose](): void {
    release(this);
  }

  /** For scopes, keep and disposeAll. A symbol, because a dictionary from a file may have a key of any name. */
  get [tensors](): Tensor | null {
    return this._token ?? null;
  }

  /** The handle. Throws if the object was disposed. */
  _live(): number {
    if (this.disposed) {
      throw codedError(Error, 'ERR_TORCH_DISPOSED', `${this._class}: the object was disposed`);
    }
    return this._handle;
  }
}

function release(self: NativeObject): void {
  const handle = handleOf(self);
  if (self._token === undefined) native.freeGenerator(handle);
  else native.free(handle);
}

/** The handle of `this`, which may be any value: a Tensor's handle has another meaning. */
function handleOf(self: NativeObject): number {
  if (self instanceof NativeObject) return self._handle;
  throw argumentError('Generator', 'this', 'an object of libtorch, such as a Generator', self);
}

markCopy(NativeObject);
