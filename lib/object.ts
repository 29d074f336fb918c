/** C++ objects that are no tensors (Generator). Their classes are generated; this is what they have in common. */
import { argumentError, codedError } from './errors';
import { native } from './native';

interface Made {
  handle: number;
  guard: unknown;
}

/** Owns one native object until dispose() or until the collector drops it. */
export class NativeObject {
  readonly _class: string;
  readonly _handle: number;
  readonly _guard: unknown;

  constructor(className: string, make: () => Made) {
    const { handle, guard } = make();
    this._class = className;
    this._handle = handle;
    this._guard = guard;
  }

  /** Whether the object was released. */
  get disposed(): boolean {
    return !native.isLiveGenerator(handleOf(this));
  }

  /** Releases the object now. Further calls do nothing. */
  dispose(): void {
    native.freeGenerator(handleOf(this));
  }

  [Symbol.dispose](): void {
    native.freeGenerator(handleOf(this));
  }

  /** The handle, if the object is still there. */
  _live(): number {
    if (this.disposed) {
      throw codedError(Error, 'ERR_TORCH_DISPOSED', `${this._class}: the object was disposed`);
    }
    return this._handle;
  }
}

/** The handle behind `this`, which can be anything: a Tensor's number means something else here. */
function handleOf(self: NativeObject): number {
  if (self instanceof NativeObject) return self._handle;
  throw argumentError('Generator', 'this', "an object of libtorch's, such as a Generator", self);
}
