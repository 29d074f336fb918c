/** A model that AOTInductor compiled, as `torch.inductor.aotiLoadPackage` gives it. */
import type { Signal } from '../../types/base';
import { native } from '../addon/native';
import { start } from '../async/run';
import type { Strand } from '../async/strand';
import { NativeObject } from '../call/object';
import { argumentError, codedError, describe } from '../errors/errors';
import { Flag, RecordingMode } from '../generated/codes';
import { readResult, takeOptions } from '../jit/module';
import { bodyNow, isPendingTensor, PendingValue } from '../tensor/pending';
import { isTensor, type Tensor, wrapElement } from '../tensor/tensor';
import { flatten, type PackageInput, parseTree, type Tree, unflatten } from './tree';

const FORWARD = 'AotiPackage.forward';

/** The model on a pool thread. The last argument may be `{ signal }`. See docs/async.md. */
export interface AsyncAotiPackage {
  forward<R = Tensor>(...args: (PackageInput | { signal: Signal | undefined })[]): Promise<R>;
}

/** The calling convention that the model was compiled with. */
interface Form {
  /** Null if unknown: then arguments and result are lists of tensors. */
  readonly positional: readonly Tree[] | null;
  readonly named: Tree | null;
  readonly result: Tree | null;
  readonly inputs: number;
  readonly single: boolean;
}

function formOf(handle: number): Form {
  const [args, result, inputs, outputs] = native.packageTrees(handle);
  const tree = parseTree(args);
  const [positional, named] = tree?.kind === 'list' ? tree.parts : [];
  const known = positional?.kind === 'list' && named?.kind === 'dict';
  const resultTree = parseTree(result);
  return {
    positional: known ? positional.parts : null,
    named: known && named.parts.length > 0 ? named : null,
    result: resultTree,
    inputs,
    single: outputs === 1 && (resultTree === null || resultTree.kind === 'leaf'),
  };
}

/** A model compiled into a library, loaded from its package. See docs/models.md. */
export class AotiPackage extends NativeObject {
  /** Its name in the package. */
  readonly modelName: string;
  /** The metadata that PyTorch wrote into the package, such as the device (`AOTI_DEVICE_KEY`). */
  readonly metadata: Readonly<Record<string, string>>;
  readonly #form: Form;

  /** @internal Use torch.inductor.aotiLoadPackage. */
  constructor(token: Tensor, modelName: string, metadata: Record<string, string>) {
    if (!isTensor(token)) {
      throw codedError(TypeError, 'ERR_TORCH_ARGUMENT', 'AotiPackage: use torch.inductor.aotiLoadPackage to make one');
    }
    super('AotiPackage', () => ({ handle: token._handle, guard: undefined, token }));
    this.modelName = modelName;
    this.metadata = Object.freeze(metadata);
    this.#form = formOf(token._handle);
  }

  /**
   * Calls the model with the arguments that it was compiled for: positional ones, followed by an object of the named ones if
   * there are any. The result is nested like the model's own.
   */
  forward<R = Tensor>(...args: PackageInput[]): R {
    return AotiPackage.#of(this, 'forward').#call(args) as R;
  }

  /** `forward` on a pool thread: `await model.async.forward(x)`. */
  get async(): AsyncAotiPackage {
    const self = AotiPackage.#of(this, 'async');
    const forward = (...args: unknown[]): Promise<never> => {
      const options = takeOptions(args);
      const recorded = (strand: Strand) => {
        const tensors = self.#flatten(args);
        return strand.record(() => self.#callWith(tensors));
      };
      return start(recorded, options, forward) as Promise<never>;
    };
    return { forward };
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    const { disposed, modelName } = AotiPackage.#of(this, 'inspect');
    return disposed ? 'AotiPackage { disposed }' : `AotiPackage { ${modelName} }`;
  }

  static #of(self: unknown, member: string): AotiPackage {
    if (typeof self === 'object' && self !== null && #form in self) return self;
    throw argumentError(`AotiPackage.${member}`, 'this', 'an AotiPackage', self);
  }

  #call(args: readonly unknown[]): unknown {
    const tensors = this.#flatten(args);
    // Like a method of a pending tensor: recorded in that tensor's torch.run.
    const recorder =
      bodyNow() ??
      (native.flags[Flag.Recording] === RecordingMode.Off ? tensors.find(isPendingTensor)?.recorder : undefined);
    if (recorder !== undefined) return recorder.record(() => this.#callWith(tensors), 'forward');
    return this.#callWith(tensors);
  }

  /** Calls the model with flattened arguments. */
  #callWith(tensors: readonly Tensor[]): unknown {
    const handles = tensors.map(({ _handle }) => _handle);
    const { single } = this.#form;
    const result = native.packageCall(this._live(), handles, single);
    const read = (raw: unknown) => this.#read(raw);
    if (result !== undefined) return read(result);
    const code = native.result[0]!;
    return native.flags[Flag.Recording] === RecordingMode.RecordedValue
      ? new PendingValue(code, -1, [], read)
      : wrapElement(code);
  }

  #read(raw: unknown): unknown {
    const value = readResult(raw);
    const { result, single } = this.#form;
    if (single || result === null) return value;
    return unflatten(result, value as unknown[]) ?? value;
  }

  #flatten(args: readonly unknown[]): Tensor[] {
    const { positional, named } = this.#form;
    const tensors: Tensor[] = [];
    if (positional === null) {
      for (const [i, arg] of args.entries()) {
        if (!isTensor(arg)) throw argumentError(FORWARD, `argument ${i + 1}`, 'a Tensor', arg);
        tensors.push(arg);
      }
      return tensors;
    }
    const wanted = positional.length + (named === null ? 0 : 1);
    if (args.length !== wanted) {
      const words = named?.kind === 'dict' ? `, the last one an object with ${named.keys.join(', ')}` : '';
      const message = `${FORWARD}: takes ${wanted} argument${wanted === 1 ? '' : 's'}${words}, got ${args.length}`;
      throw Object.assign(codedError(TypeError, 'ERR_TORCH_ARGUMENT', message), { op: FORWARD });
    }
    const where = (i: number) => `argument ${i + 1}`;
    for (const [i, tree] of positional.entries()) flatten(tree, args[i], where(i), FORWARD, tensors);
    if (named !== null) flatten(named, args[wanted - 1], where(wanted - 1), FORWARD, tensors);
    const { inputs } = this.#form;
    if (tensors.length !== inputs) {
      const message = `${FORWARD}: takes ${inputs} tensors in all, got ${tensors.length} (first: ${describe(args[0])})`;
      throw Object.assign(codedError(TypeError, 'ERR_TORCH_ARGUMENT', message), { op: FORWARD });
    }
    return tensors;
  }
}
