/** torch.nn.parallel.DistributedDataParallel, over libtorch's c10d::Reducer. Python's torch/nn/parallel/distributed.py. */

import { native } from '../../addon/native';
import { ownOptions } from '../../addon/options';
import { isGradEnabled } from '../../autograd/backward';
import { memberOf, ProcessGroup } from '../../distributed/group';
import { argumentError, codedError, refusal } from '../../errors/errors';
import { restoring } from '../../errors/restoring';
import { Flag, RecordingMode } from '../../generated/codes';
import { isPending } from '../../tensor/places';
import { type Tensor, wrapElement } from '../../tensor/tensor';
import { Embedding, EmbeddingBag } from '../embedding';
import { demandModule, type ModuleLike } from '../given';
import { Module } from '../module';
import { type Parameter, UninitializedParameter } from '../parameter';
import { syncsBuffersAlways } from '../release';
import { mapped, tensorsOf } from './outputs';
import { handlesOf, lost, Reducer } from './reducer';

const FN = 'nn.parallel.DistributedDataParallel';

export interface DistributedDataParallelOptions {
  /** The ranks that train together. Default: the default process group. */
  processGroup?: ProcessGroup | null | undefined;
  /** Overwrite the buffers with those of rank 0 before each forward. Default: true. */
  broadcastBuffers?: boolean | undefined;
  /** Look for parameters that no output depends on, which otherwise make a backward wait forever. Default: false. */
  findUnusedParameters?: boolean | undefined;
  /** MiB of gradients that are sent together. Default: 25, of which the first bucket is 1. */
  bucketCapMb?: number | null | undefined;
  /** Gradients are views of the buckets that are sent, which saves a copy. Default: false. */
  gradientAsBucketView?: boolean | undefined;
  /** Every iteration uses the same parameters in the same order. Default: false. */
  staticGraph?: boolean | undefined;
}

const OPTIONS = [
  'processGroup',
  'broadcastBuffers',
  'findUnusedParameters',
  'bucketCapMb',
  'gradientAsBucketView',
  'staticGraph',
] as const;

interface Settings {
  broadcastBuffers: boolean;
  findUnused: boolean;
  bucketBytes: number;
  bucketViews: boolean;
  isStatic: boolean;
}

function settingsOf(options: DistributedDataParallelOptions): Settings {
  const flagOf = (
    name: 'broadcastBuffers' | 'findUnusedParameters' | 'gradientAsBucketView' | 'staticGraph',
    usual: boolean,
  ) => {
    const value = options[name] ?? usual;
    if (typeof value !== 'boolean') throw argumentError(FN, name, 'a boolean', value);
    return value;
  };
  const cap = options.bucketCapMb ?? null;
  if (cap !== null && !(typeof cap === 'number' && cap > 0 && cap <= 2 ** 20)) {
    throw argumentError(FN, 'bucketCapMb', 'a positive number of MiB', cap);
  }
  return {
    broadcastBuffers: flagOf('broadcastBuffers', true),
    findUnused: flagOf('findUnusedParameters', false),
    bucketBytes: cap === null ? -1 : Math.max(1, Math.floor(cap * 2 ** 20)),
    bucketViews: flagOf('gradientAsBucketView', false),
    isStatic: flagOf('staticGraph', false),
  };
}

interface Trained {
  parameters: Parameter[];
  names: string[];
  sparse: boolean[];
}

/** The parameters that require gradients, each once, in the order that all ranks have. */
function trainedBy(module: Module): Trained {
  const found: Trained = { parameters: [], names: [], sparse: [] };
  const seen = new Set<Parameter>();
  for (const [name, inner] of module.namedModules()) {
    const isSparse = (inner instanceof Embedding || inner instanceof EmbeddingBag) && inner.sparse;
    for (const [own, parameter] of inner._ownParameters()) {
      const path = name === '' ? inner._keyOf(own) : `${name}.${inner._keyOf(own)}`;
      if (parameter instanceof UninitializedParameter) {
        const expected = 'a module whose lazy parameters have a shape: call it once before';
        throw refusal(FN, 'module', expected, `${path} without a shape`);
      }
      if (!parameter.requiresGrad || seen.has(parameter)) continue;
      seen.add(parameter);
      found.parameters.push(parameter);
      found.names.push(path);
      found.sparse.push(isSparse);
    }
  }
  return found;
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function' && !isPending(value);

/**
 * Trains a module on several ranks: the gradients of the parameters are averaged over the ranks while the backward computes
 * further ones, so every rank makes the same steps. Each rank makes the same calls with batches of its own. The constructor
 * waits for all ranks, and gives them the parameters and buffers of rank 0. See docs/data-parallel.md.
 */
export class DistributedDataParallel<M extends Module = Module> extends Module {
  readonly module: M;
  readonly #group: ReturnType<typeof memberOf>;
  readonly #settings: Settings;
  readonly #reducer: Reducer;
  /** False in noSync. */
  #reduces = true;
  /** Whether the next forward gets the buffers of rank 0: not after a forward that was not reduced. */
  #syncsNext = true;
  /** For a static graph: a sink has told the reducer of the first backward. */
  #sinks: boolean;

  constructor(model: ModuleLike<M>, options: DistributedDataParallelOptions = {}) {
    super();
    const module = demandModule(FN, 'module', model) as M;
    const given = ownOptions(FN, options, OPTIONS);
    const settings = settingsOf(given);
    const trained = trainedBy(module);
    if (trained.parameters.length === 0) {
      throw argumentError(FN, 'module', 'a module with a parameter that requires a gradient', module);
    }
    const { processGroup = null } = given;
    if (processGroup !== null && !(processGroup instanceof ProcessGroup)) {
      throw argumentError(FN, 'processGroup', 'a ProcessGroup', processGroup);
    }
    this.#group = memberOf(FN, processGroup);
    this.#settings = settings;
    this.#sinks = settings.isStatic || settings.findUnused;
    native.reducerVerify(this.#group._native, handlesOf(trained.parameters));
    const buffers = settings.broadcastBuffers || syncsBuffersAlways ? module.buffers() : [];
    native.reducerBroadcast(this.#group._native, handlesOf([...module.parameters(), ...buffers]), 0);
    this.#reducer = new Reducer(this.#group._native, trained.parameters, { ...settings, ...trained });
    lost.register(this, this.#reducer, this.#reducer);
    this.module = module;
  }

  override forward(...inputs: Parameters<M['forward']>): ReturnType<M['forward']> {
    const { broadcastBuffers, findUnused, isStatic } = this.#settings;
    const hasGraph = isGradEnabled();
    const reduces = hasGraph && this.#reduces;
    if (this.#sinks && reduces && native.flags[Flag.Recording] !== RecordingMode.Off) {
      const message = `${FN}: with findUnusedParameters, and in the first iteration with staticGraph, expected a forward outside torch.run; its backward may be inside`;
      throw codedError(Error, 'ERR_TORCH_PENDING', message);
    }
    if (reduces) memberOf(FN, this.#group); // it may have been destroyed
    if (hasGraph) this.#reducer.beforeForward(reduces);
    if (this.#syncsNext && broadcastBuffers) {
      const buffers = this.module.buffers();
      if (buffers.length > 0) native.reducerBroadcast(memberOf(FN, this.#group)._native, handlesOf(buffers), 0);
    }
    const output = this.module.forward(...inputs) as ReturnType<M['forward']>;
    this.#syncsNext = reduces;
    if (reduces) this.#reducer.beforeBackward(findUnused && !isStatic ? tensorsOf(output) : []);
    if (!this.#sinks) return output;
    if (isStatic && reduces) this.#sinks = false;
    return isStatic && !reduces ? output : this.#throughSink(output);
  }

  /** Replaces the outputs that have a graph. */
  #throughSink<T>(output: T): T {
    const passed = tensorsOf(output).filter(({ requiresGrad }) => requiresGrad);
    if (passed.length === 0) return output;
    const made = new Map(passed.map((tensor, i) => [tensor, i]));
    const handles = this.#reducer.sink(passed);
    const replaced = handles.map((handle) => wrapElement(handle) as Tensor);
    return mapped(output, (tensor) => {
      const place = made.get(tensor);
      return place === undefined ? tensor : replaced[place]!;
    }) as T;
  }

  /**
   * Runs `fn`, in which backwards add to the gradients of this rank alone. The first backward after a later forward then
   * averages the sums. `fn` may be async: until it settles, every forward of this module counts as inside.
   */
  noSync<T>(fn: () => T): T {
    if (typeof fn !== 'function') throw argumentError(`${FN}.noSync`, 'fn', 'a function', fn);
    const before = this.#reduces;
    const undo = () => {
      this.#reduces = before;
    };
    let waits = false;
    const result = restoring(
      () => {
        if (!waits) undo();
      },
      () => {
        this.#reduces = false;
        const made = fn();
        waits = isThenable(made);
        return made;
      },
    );
    return waits ? (Promise.resolve(result).finally(undo) as T) : result;
  }

  /** A reducer belongs to the parameters that it was made for. */
  override deepCopy(): this {
    throw codedError(
      Error,
      'ERR_TORCH_NOT_IMPLEMENTED',
      `${FN}.deepCopy: cannot copy a DistributedDataParallel: copy its module instead (.module.deepCopy())`,
    );
  }

  /** Releases the reducer, and the parameters and buffers of the module. Further calls do nothing. */
  override dispose(): void {
    lost.unregister(this.#reducer);
    this.#reducer.close();
    super.dispose();
  }
}
