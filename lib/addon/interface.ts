/** The types of the addon's exports. Imports nothing of the library, so every module can refer to it. */
import type { Device } from '../../types/base';
import type { TorchError } from '../errors/errors';
import type { Turn } from '../errors/restoring';
import type { MemoryNative } from './memory';
import type { AuditNative } from './recorder';

/** A native function of the op table: arguments in schema order, tensors as handles. */
export type NativeOp = (...args: unknown[]) => unknown;

/**
 * The exports of native/addon.cpp. Handles and scope ids are numbers; 0 is none. State that all copies of the library share
 * (Jest loads one per test file) is kept here too. Modules that own such state declare it by augmenting this interface;
 * `tensorMark` and `turnNow` are declared here.
 */
export interface Native extends AuditNative, MemoryNative {
  ops(row: number): NativeOp;
  opCount: number;
  /** codegen::Flags of codegen/model/flags.h. */
  flagsBuffer: ArrayBuffer;
  /**
   * [0] new tensors whose stack the audit or a watch still needs; [1] nonzero while a scope is current; [4] 1: a scavenge is due,
   * 2: a full collection; [5] recording mode.
   */
  flags: Uint32Array;
  /** [0] the handle of the last op's result, 0 for none. */
  result: Float64Array;
  /** Shared memory through which short lists of integers are passed to ops. */
  ints: Float64Array;

  /** The mark of every tensor object of this environment; set by the first copy of lib/tensor/tensor.ts. */
  tensorMark?: symbol;

  /** States of running synchronous code, shared by all copies of the library that use one addon. */
  turnNow?: Turn;

  guard(handle: number): unknown;
  /** The number of guard objects not yet collected. */
  guards(): number;
  freeGenerator(handle: number): boolean;
  isLiveGenerator(handle: number): boolean;
  free(handle: number): boolean;
  isLive(handle: number): boolean;
  scopeOpen(): number;
  scopeClose(scope: number): boolean;
  scopeEnter(scope: number): void;
  scopeCurrent(): number;
  scopeIsOpen(scope: number): boolean;
  scopeParent(scope: number): number;
  scopeReparent(scope: number, parent: number): boolean;
  scopeOf(handle: number): number;
  scopeMove(handle: number, scope: number): boolean;

  /** Packed in a number, or an array: see shape.ts. */
  shape(handle: number): number | number[];
  /** Names of the dimensions, '*' for unnamed ones. */
  names(handle: number): string[];
  strides(handle: number): number | number[];
  numel(handle: number): number;
  ndim(handle: number): number;
  dtype(handle: number): number;
  layout(handle: number): number;
  device(handle: number): Device;
  itemSize(handle: number): number;
  storageBytes(handle: number): number;
  storageOffset(handle: number): number;
  /** A number that no other storage has as long as this one exists; 0 for a tensor without a storage. */
  storageKey(handle: number): number | bigint;
  storage(handle: number): unknown;

  fromCopy(data: ArrayBufferView, shape: readonly number[], dtype: number, device: string | null): unknown;
  /**
   * Converts the numbers to `wanted`, an integer dtype; no tensor if one does not fit. `floats`: elements of an array of doubles
   * count as floats, because they are not from JavaScript arrays.
   */
  fromNumbers(
    data: ArrayBufferView,
    shape: readonly number[],
    dtype: number,
    device: string | null,
    wanted: number,
    floats: boolean,
  ): unknown;
  /** False for the buffer of a WebAssembly memory, and in Node 24 and later for one that is marked as untransferable. */
  isDetachable(buffer: ArrayBuffer): boolean;
  fromBorrowed(data: ArrayBufferView, shape: readonly number[], dtype: number): unknown;
  copyInto(handle: number, buffer: ArrayBuffer): void;
  /**
   * Arrays of numbers under the names, members of a JSON object: for each the index of its name, where its text begins and ends, its
   * first number in `numbers` and how many there are. Null if the text is to be parsed whole.
   */
  jsonArrays(text: Uint8Array, names: readonly string[], numbers: Float32Array | Float64Array): number[] | null;
  /** A new uint8 tensor, uninitialized. */
  newBytes(length: number): unknown;
  /** Fills a uint8 tensor from a file offset; returns the number of bytes read. Adds them to `sum`, a CRC-32. */
  readBytes(handle: number, descriptor: number, from: number, sum: Uint32Array | null): number;
  /** Writes a uint8 tensor at the file's position; returns the number of bytes written. Adds them to `sum`. */
  writeBytes(handle: number, descriptor: number, sum: Uint32Array | null): number;
  /** fsync and fchmod of an open file: the errno, or 0. */
  syncFile(descriptor: number): number;
  changeMode(descriptor: number, mode: number): number;
  /** Copies `bytes` into a uint8 tensor at an offset. */
  fillBytes(handle: number, from: number, bytes: Uint8Array): void;

  requiresGrad(handle: number): boolean;
  setRequiresGrad(handle: number, value: boolean): void;
  grad(handle: number): unknown;
  setGrad(handle: number, value: number): void;
  gradFnName(handle: number): string;
  gradEnabled(): boolean;
  setGradEnabled(value: boolean): void;
  inferenceEnabled(): boolean;
  inferenceEnter(): number;
  inferenceExit(depth: number): void;
  /** The modes of the thread; dtypes by their codes. */
  autocastSet(cpu: boolean, cpuDtype: number, cuda: boolean, cudaDtype: number, caches: boolean): void;
  autocastClearCache(): void;
  autocastEnabled(cuda: boolean): boolean;
  autocastDtype(cuda: boolean): number;
  autocastCaches(): boolean;
  /** Whether autocast of the CPU can use float16. */
  autocastHasHalf(): boolean;

  /** The gradients with respect to `inputs`. 0 means that a gradient is omitted. */
  autogradGrad(
    outputs: readonly number[],
    inputs: readonly number[],
    gradOutputs: readonly number[],
    retainGraph: boolean,
    createGraph: boolean,
    allowUnused: boolean,
  ): unknown[];
  /** `inputs`: what to accumulate into; empty for all leaves. */
  autogradBackward(
    outputs: readonly number[],
    gradOutputs: readonly number[],
    retainGraph: boolean,
    createGraph: boolean,
    inputs: readonly number[],
  ): void;

  /**
   * A step of all parameters of a group that have a gradient. `rows`: handles of each parameter and its state, of which
   * `count` are used; 0 is a tensor that the formula does not need. False, with nothing changed, if a state is missing or a
   * tensor is not dense: lib/optim has the formulas for these cases. `lerps`: averages move by lerp_ (libtorch 2).
   * `rootsByPow`: square roots are pow(x, 0.5), as in Python from 2.0.
   */
  optimAdam(
    rows: Float64Array,
    count: number,
    lr: number,
    beta1: number,
    beta2: number,
    eps: number,
    weightDecay: number,
    isDecoupled: boolean,
    maximize: boolean,
    lerps: boolean,
    rootsByPow: boolean,
  ): boolean;
  /** The same by a fused op. False also if its kernel does not take the tensors as they are. */
  optimFusedAdam(
    rows: Float64Array,
    count: number,
    lr: number,
    beta1: number,
    beta2: number,
    eps: number,
    weightDecay: number,
    isDecoupled: boolean,
    maximize: boolean,
  ): boolean;
  optimSgd(
    rows: Float64Array,
    count: number,
    lr: number,
    momentum: number,
    dampening: number,
    weightDecay: number,
    nesterov: boolean,
    maximize: boolean,
  ): boolean;
  optimRmsprop(
    rows: Float64Array,
    count: number,
    lr: number,
    alpha: number,
    eps: number,
    weightDecay: number,
    momentum: number,
    maximize: boolean,
    lerps: boolean,
    rootsByPow: boolean,
  ): boolean;
  optimAdagrad(
    rows: Float64Array,
    count: number,
    lr: number,
    lrDecay: number,
    eps: number,
    weightDecay: number,
    maximize: boolean,
  ): boolean;

  /** `hook(raw)` returns a handle, or 0. Returns an object for the hook. */
  registerHook(handle: number, hook: (raw: unknown) => number): unknown;
  registerPostAccumulateGradHook(handle: number, hook: (raw: unknown) => void): unknown;
  dropHook(hook: unknown): void;

  /** An object for a node of the graph, before forward has run. */
  functionBegin(inputs: readonly number[], name: string): unknown;
  /** The results as graph outputs, 0 for one that is the given tensor itself. */
  functionEnd(
    node: unknown,
    outputs: readonly number[],
    saved: readonly number[],
    dirty: readonly number[],
    nonDifferentiable: readonly number[],
    materialize: boolean,
    needsSaved: boolean,
    backward: (raws: unknown[]) => number[],
  ): unknown[];
  functionCancel(node: unknown): void;
  functionSaved(node: unknown): unknown[];

  /** For the process. */
  anomalySet(enabled: boolean, checkNan: boolean): void;
  anomalyEnabled(): boolean;
  anomalyChecksNan(): boolean;
  /** `place` returns the current line. It is called as long as the returned object is held. */
  anomalyPlace(place: () => string): unknown;
  /** For the last failed backward: names of nodes and their places, alternating. */
  anomalyTake(): string[];

  /** Shares a tensor with other threads under the returned id. `exact` false: as if V8 had no exact count of tokens. */
  share(handle: number, token: SharedArrayBuffer, exact: boolean, site: number): number;
  fromShared(id: number, token: SharedArrayBuffer): unknown;
  revokeShared(id: number): boolean;
  /** Whether many bytes were shared since the last sweep. */
  shareSweepIsDue(): boolean;
  /** Frees shared tensors that can no longer be taken. Returns the remaining bytes. */
  sweepShared(): number;

  /** Whether the addon has access to CUDA's caching allocator. */
  cudaHasAllocator(): boolean;
  /** Whether a library with CUDA is loaded. */
  cudaIsLinked(): boolean;
  cudaDeviceCount(): number;
  cudaCurrentDevice(): number;
  cudaSynchronize(device: number): void;
  cudaEmptyCache(): void;
  /** Bytes: allocated, reserved, peak allocated, peak reserved. */
  cudaMemory(device: number): number[];

  /** Ops recorded while `flags[Flag.Recording]` is not 0 go into the strand that was entered. See lib/async/strand.ts. */
  strandMailbox(onMail: () => void): void;
  strandOpen(): number;
  strandEnter(strand: number): void;
  /** Throws if recorded ops may write to the tensor. */
  strandRequireRead(handle: number): void;
  /** [dtype, device, ...shape] of a result that may be pending; if unknown, why, or null. The dtype alone may be null too. */
  strandMeta(strand: number, code: number): (number | string | null)[] | string | null;
  /** Opens a strand of torch.capture, whose first codes stand for the tensors. */
  captureOpen(inputs: readonly number[]): number;
  /** The replay object; `outputs` are codes. */
  captureEnd(strand: number, inputs: readonly number[], outputs: readonly number[]): unknown;
  /** The results: nothing, one, or an array; false if the inputs differ from those that it was recorded for. */
  captureReplay(token: number, inputs: readonly number[]): unknown;
  /**
   * `wanted`: the steps whose results are taken, null for all; false for the rest after a failure. Returns the bits of `Submitted`
   * (lib/async/strand.ts).
   */
  strandSubmit(strand: number, wanted: readonly number[] | null | false): number;
  /** The names of the short ops (native/async/short_batch.h) with one result for a whole tensor, or of the others. */
  shortOps(whole: boolean): string[];
  /** The elements of a call of a short op with these handles, which may run now; 0 if it belongs into the pool. */
  shortCall(whole: boolean, ...handles: number[]): number;
  /** The strands whose batches have ended. */
  strandMail(): number[];
  /** Finishes a batch; returns whether all its ops ran. */
  strandSettle(strand: number): boolean;
  strandError(strand: number): unknown;
  strandCanRepeat(strand: number): boolean;
  strandTake(strand: number, step: number): unknown;
  /** Skips the steps that have not run. */
  strandCancel(strand: number): void;
  /** Cancels, and no longer counts the pool thread that runs the current op. */
  strandAbandon(strand: number): void;
  strandClose(strand: number): void;
  /** The numbers of threads, running batches, waiting batches and abandoned batches. */
  poolStatus(): number[];
  poolSetThreads(count: number): void;
  /** Makes threads in place of those that run abandoned ops. */
  poolReplaceAbandoned(): void;
  /** Waits for the running ops; no further ones begin. */
  poolStop(): void;

  /** `bytes`: the uint8 tensor of an archive that lib/jit/archive.ts has examined. Returns the model's holder. */
  modelLoad(bytes: number, device: string | null): unknown;
  /**
   * The same for an open file: `held` are the bytes of the ranges [from, length, …], which were examined; the others are read
   * from the file.
   */
  modelLoadFile(fd: number, size: number, ranges: readonly number[], held: Uint8Array, device: string | null): unknown;
  /** The result in the form of lib/jit/values.ts, or the method's error. */
  modelCall(model: number, method: string, values: readonly unknown[]): unknown;
  modelTo(model: number, device: string): void;
  /** The holder of a new model. */
  modelFreeze(model: number, preservedAttrs: readonly string[], optimizeNumerics: boolean): unknown;
  modelOptimize(model: number, otherMethods: readonly string[]): unknown;
  /** The parts and tensors by name: see lib/jit/scripted.ts. */
  modelTree(model: number): unknown;
  /** Grows when code of the model has run that may have replaced tensors. */
  modelChanges(model: number): number;
  /**
   * The places of known tensors (all parameters, then all buffers, by all names) for which the model has others; null while a
   * call changes it.
   */
  modelReplaced(model: number, known: readonly number[]): readonly number[] | null;
  /** `place`: in the parts of modelTree. */
  modelTrainPart(model: number, place: number, mode: boolean): void;
  modelIsPartTraining(model: number, place: number): boolean;
  /** The holder of a model with tensors of its own. */
  modelCopy(model: number): unknown;
  /** Appends to an open file. Returns the errno of the write that failed, or 0. */
  modelSave(model: number, descriptor: number): number;

  /** Whether this libtorch can load AOTInductor packages. */
  hasPackages(): boolean;
  /** Loads files that lib/inductor/archive.ts has unpacked. Returns the package's holder. */
  packageLoad(
    folder: string,
    library: string,
    weights: string,
    device: string,
    keepFolder: boolean,
    runners: number,
    bytes: number,
    forms: readonly number[],
  ): unknown;
  /** The nesting of arguments and result, and their numbers of tensors. */
  packageTrees(handle: number): [args: string, result: string, inputs: number, outputs: number];
  /** The result in the form of lib/jit/values.ts, or the model's error. `single`: it is one tensor. */
  packageCall(handle: number, inputs: readonly number[], single: boolean): unknown;

  manualSeed(seed: number | bigint): void;
  getNumThreads(): number;
  setNumThreads(count: number): void;
  getDefaultDtype(): number;
  setDefaultDtype(dtype: number): void;
  initialSeed(): number | bigint;
  seed(): number | bigint;
  rngState(): unknown;
  setRngState(handle: number): void;
  getNumInteropThreads(): number;
  setNumInteropThreads(count: number): void;
  setDeterministic(mode: boolean, warnOnly: boolean): void;
  isDeterministic(): boolean;
  isDeterministicWarnOnly(): boolean;
  /** Returns whether this processor supports it. */
  setFlushDenormal(mode: boolean): boolean;
  /** 0 highest, 1 high, 2 medium. */
  matmulPrecision(): number;
  setMatmulPrecision(precision: string): void;
  /** `sink` gets each native error before it is thrown, and the handle of the disposed tensor that was used, or 0. */
  setErrorSink(sink: (error: TorchError, handle: number) => void): void;
  /** `sink` gets each warning of libtorch, after the op that caused it. */
  setWarningSink(sink: (text: string) => void): void;
  version(): string;
  config(): string;
  enums(): { dtypes: string[]; layouts: string[]; memoryFormats: string[] };
}
