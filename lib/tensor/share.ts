/** Shares tensors between threads without copying: `t.share()` gives a token, `torch.fromShared(token)` a tensor. */
import { types } from 'node:util';
import { native } from '../addon/native';
import type { AuditNative } from '../addon/recorder';
import { argumentError, codedError } from '../errors/errors';
import { collectAll, scavenge } from '../memory/collector';
import { siteNumber } from '../observe/recording';
import { type Tensor, wrap } from './tensor';

/** The argument of `fromShared`. It can be posted to workers, also inside other objects; a posted token has only this. */
export interface SharedTensor {
  /** Identifies the token. V8 counts its references in threads and messages, so the tensor lives while it may be taken. */
  readonly shared: SharedArrayBuffer;
}

/** "ltnshare", then the id of the tensor in the process's table. */
const MAGIC = 0x6c746e7368617265n;
const BYTES = 16;
/** Frames of the stack that a recording keeps of a call of `share`. */
const SITE_DEPTH = 4;

/** The token in the thread that called `t.share()`. */
export class SharedToken implements SharedTensor {
  readonly shared: SharedArrayBuffer;

  /** @internal Use `t.share()`. */
  constructor(shared: SharedArrayBuffer) {
    this.shared = shared;
  }

  /** Invalidates all copies of the token. Tensors taken before stay valid. Further calls do nothing. */
  dispose(): void {
    native.revokeShared(idOf(this.shared));
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

const idOf = (shared: SharedArrayBuffer): number => new Float64Array(shared)[1]!;

/** Bytes held by tokens from which a full collection runs, to find unreachable tokens among the old objects. */
const MIN_OLD = 512 * 1024 * 1024;
let untilFull = MIN_OLD;

/** Collects after many new bytes: V8 sees a token of 16 bytes, not its tensor. */
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
  const id = native.share(tensor._handle, shared, true, siteNumber(native as AuditNative, SITE_DEPTH, share));
  new BigUint64Array(shared)[0] = MAGIC;
  new Float64Array(shared)[1] = id;
  return new SharedToken(shared);
}

/**
 * A tensor on the same memory as the one whose `share()` gave the token, in any thread of the process.
 * A token can be taken any number of times.
 */
export function fromShared(token: SharedTensor): Tensor {
  const shared = (token as SharedTensor | null | undefined)?.shared;
  if (!types.isSharedArrayBuffer(shared)) throw argumentError('fromShared', 'token', 'a token of t.share()', token);
  if (shared.byteLength !== BYTES || new BigUint64Array(shared)[0] !== MAGIC) {
    throw codedError(Error, 'ERR_TORCH_SHARED', 'fromShared: the SharedArrayBuffer does not belong to a token');
  }
  return wrap(native.fromShared(idOf(shared), shared))!;
}
