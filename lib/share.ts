/** Tensors for other threads: `t.share()` puts one up, `torch.fromShared(token)` takes it, without copying. */
import { types } from 'node:util';
import { collectAll, scavenge } from './collector';
import { argumentError, codedError } from './errors';
import { native } from './native';
import { type Tensor, wrap } from './tensor';

/** What `fromShared` needs. It can be posted to workers, also inside other objects; a posted token is this, no more. */
export interface SharedTensor {
  /** Who it is. V8 counts who has it, threads and messages, so the tensor lives as long as somebody may come for it. */
  readonly shared: SharedArrayBuffer;
}

/** "ltnshare", then the id of the tensor in the process's table. */
const MAGIC = 0x6c746e7368617265n;
const BYTES = 16;

/** The token that `t.share()` returns, where it was made. */
export class SharedToken implements SharedTensor {
  readonly shared: SharedArrayBuffer;

  /** @internal Use `t.share()`. */
  constructor(shared: SharedArrayBuffer) {
    this.shared = shared;
  }

  /** Nobody can take the tensor from now on, whoever has the token. What was taken stays. Further calls do nothing. */
  dispose(): void {
    native.revokeShared(idOf(this.shared));
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

const idOf = (shared: SharedArrayBuffer): number => new Float64Array(shared)[1]!;

/** Bytes that tokens may hold before a full collection looks for dropped ones among the old objects. */
const MIN_OLD = 512 * 1024 * 1024;
let untilFull = MIN_OLD;

/** V8 sees a token of 16 bytes, not the tensor behind it: so new bytes are a reason to collect here. */
function collectTokens(): void {
  scavenge();
  if (native.sweepShared() < untilFull) return;
  collectAll();
  untilFull = Math.max(MIN_OLD, 2 * native.sweepShared());
}

/** The method `t.share()`. */
export function share(tensor: Tensor): SharedToken {
  if (native.shareSweepIsDue()) collectTokens();
  const shared = new SharedArrayBuffer(BYTES);
  const id = native.share(tensor._handle, shared, true);
  new BigUint64Array(shared)[0] = MAGIC;
  new Float64Array(shared)[1] = id;
  return new SharedToken(shared);
}

/**
 * A tensor on the same memory as the one whose `share()` gave the token, in whatever thread of the process that was.
 * A token can be taken any number of times.
 */
export function fromShared(token: SharedTensor): Tensor {
  const shared = (token as SharedTensor | null | undefined)?.shared;
  if (!types.isSharedArrayBuffer(shared)) throw argumentError('fromShared', 'token', 'a token of t.share()', token);
  if (shared.byteLength !== BYTES || new BigUint64Array(shared)[0] !== MAGIC) {
    throw codedError(Error, 'ERR_TORCH_SHARED', 'fromShared: this SharedArrayBuffer is not that of a token');
  }
  return wrap(native.fromShared(idOf(shared), shared))!;
}
