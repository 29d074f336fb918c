/** C++ objects that are no tensors (Generator). Their classes are generated; this is what they have in common. */
import { codedError } from './errors';
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
    return !native.isLiveGenerator(this._handle);
  }

  /** Releases the object now. Further calls do nothing. */
  dispose(): void {
    native.freeGenerator(this._handle);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** The handle, if the object is still there. */
  _live(): number {
    if (this.disposed) {
      throw codedError(Error, 'ERR_TORCH_DISPOSED', `${this._class}: the object was disposed`);
    }
    return this._handle;
  }
}
