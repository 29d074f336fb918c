/** The strand that a captured function is recorded into. It is never submitted: native code replays it. */
import { native } from '../addon/native';
import { Strand } from '../async/strand';
import { codedError } from '../errors/errors';
import type { PendingTensor, PendingValue } from '../tensor/pending';

/** A module, which runs other ops in training mode. */
export interface Switched {
  readonly training: boolean;
}

/** Lifetime: one recording. */
export class CaptureStrand extends Strand {
  /** Why it cannot be replayed. Kept, because the function may catch the error. */
  refused: string | null = null;
  /** The pending tensors of the arguments. */
  inputs: ReadonlyMap<unknown, number> = new Map();
  /** The modules that the function calls, and whether each was in training mode at its first call. */
  readonly modules = new Map<Switched, boolean>();

  constructor(caller: () => never, site: { stack?: unknown }, handles: readonly number[]) {
    super(caller, site, () => native.captureOpen(handles));
  }

  /** Called for a result that is not a tensor. */
  override onValue(value: PendingValue): void {
    this.refuse(`it reads a value: ${value.op ?? 'an op'}() gives a result that is not a tensor`);
  }

  override valueOf(pending: PendingTensor | PendingValue): Promise<unknown> {
    const what = 'op' in pending && typeof pending.op === 'string' ? `the result of ${pending.op}()` : 'a tensor';
    return this.refuse(`it awaits ${what}`);
  }

  onModule(module: Switched): void {
    if (!this.modules.has(module)) this.modules.set(module, module.training);
  }

  /** A replay would not dispose the argument. What the function makes itself is freed after its last use anyway. */
  onDispose(pending: PendingTensor): void {
    if (this.inputs.has(pending)) this.refuse('it disposes an argument');
  }

  protected override get endedText(): string {
    return (
      'torch.capture: expected no use of a tensor of the captured function after its call, got an op: ' +
      'return the tensor, and pass it as an argument of the next call'
    );
  }

  /** @throws ERR_TORCH_CAPTURE */
  refuse(why: string): never {
    this.refused ??= why;
    throw codedError(Error, 'ERR_TORCH_CAPTURE', `capture: the function cannot be replayed: ${why}`);
  }
}
