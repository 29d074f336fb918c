/** The addon, and what it exports. lib/load.ts chooses and loads it. */
import type { Device } from '../types/base';
import type { AsyncNow } from './async/strand';
import type { AuditNative } from './audit';
import { completeNative, type TorchError } from './errors';
import type { Goals } from './gradients/goals';
import { load } from './load';
import type { Now } from './scopes/context';
import { shareTurn, type Turn } from './turn';

/** A native function of the op table: arguments in schema order, tensors as handles. */
export type NativeOp = (...args: unknown[]) => unknown;

/** What native/addon.cpp exports. Handles and scope ids are numbers; 0 is none. */
export interface Native extends AuditNative {
  ops(row: number): NativeOp;
  opCount: number;
  /** handles::Flags of native/handles/slot_table.h. */
  flagsBuffer: ArrayBuffer;
  /** [0] tensors wait for the audit's stack; [1] non-zero while a scope is current; [4] 1: a scavenge is due, 2: a full collection; [5] whether ops are recorded. */
  flags: Uint32Array;
  /** [0] the handle of the last op's result, 0 for none. */
  result: Float64Array;
  /** Where short lists of integers go into an op. */
  ints: Float64Array;

  /** What every tensor object of this environment carries; set by the first copy of lib/tensor.ts. */
  tensorMark?: symbol;
  /** Strands of all copies of the library over one addon. */
  asyncNow?: AsyncNow;
  /** What the backward in progress is for, for all copies of the library over one addon. */
  goalsNow?: Goals;
  /** Which scope is current, for all copies of the library over one addon. */
  scopesNow?: Now;
  /** States of synchronous code that runs, for all copies of the library over one addon. */
  turnNow?: Turn;

  guard(handle: number): unknown;
  /** Objects that the collector has still to drop. */
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

  shape(handle: number): number[];
  /** Names of the dimensions, '*' for none. */
  names(handle: number): string[];
  strides(handle: number): number[];
  numel(handle: number): number;
  ndim(handle: number): number;
  dtype(handle: number): number;
  layout(handle: number): number;
  device(handle: number): Device;
  itemSize(handle: number): number;
  storageBytes(handle: number): number;
  storageOffset(handle: number): number;
  sameStorage(a: number, b: number): boolean;
  storage(handle: number): unknown;

  fromCopy(data: ArrayBufferView, shape: readonly number[], dtype: number, device: string | null): unknown;
  /**
   * The numbers as elements of `wanted`, a dtype of integers; no tensor where one does not fit. `floats`: those of an array of
   * doubles are floats, and not what stood in arrays of JavaScript.
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
  /** A uint8 tensor with memory of its own, not yet filled. */
  newBytes(length: number): unknown;
  /** Fills a uint8 tensor from that byte of a file on; gives how many bytes there were. */
  readBytes(handle: number, descriptor: number, from: number): number;
  /** Copies `bytes` into a uint8 tensor, from that byte on. */
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

  /** The gradients with respect to `inputs`. 0 stands for a gradient that is left out. */
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

  /** `hook(raw)` gives a handle, or 0. What is returned stands for the hook. */
  registerHook(handle: number, hook: (raw: unknown) => number): unknown;
  registerPostAccumulateGradHook(handle: number, hook: (raw: unknown) => void): unknown;
  dropHook(hook: unknown): void;

  /** What stands for a node of the graph, before forward has run. */
  functionBegin(inputs: readonly number[], name: string): unknown;
  /** The results as they are in the graph, 0 for one that is the tensor given. */
  functionEnd(
    node: unknown,
    outputs: readonly number[],
    saved: readonly number[],
    dirty: readonly number[],
    nonDifferentiable: readonly number[],
    materialize: boolean,
    backward: (raws: unknown[]) => number[],
  ): unknown[];
  functionCancel(node: unknown): void;
  functionSaved(node: unknown): unknown[];

  /** For the process. */
  anomalySet(enabled: boolean, checkNan: boolean): void;
  anomalyEnabled(): boolean;
  anomalyChecksNan(): boolean;
  /** `place` says where the code is. It is asked as long as what is returned is held. */
  anomalyPlace(place: () => string): unknown;
  /** Of the last backward that failed: names of nodes and their places, one after the other. */
  anomalyTake(): string[];

  /** Puts a tensor up for other threads under the id that it returns. `exact` false: as where V8 cannot be asked. */
  share(handle: number, token: SharedArrayBuffer, exact: boolean): number;
  fromShared(id: number, token: SharedArrayBuffer): unknown;
  revokeShared(id: number): boolean;
  /** Whether many bytes were put up since the last sweep. */
  shareSweepIsDue(): boolean;
  /** Frees what nobody can take any more. Returns the bytes of what is left. */
  sweepShared(): number;

  memory(): MemoryReport;
  /** Of all allocated bytes; null for none. */
  setMemoryLimit(bytes: number | null): void;
  /** -1 for none. */
  memoryLimit(): number;
  /** `memory().allocatedBytes`, without the rest. */
  allocatedBytes(): number;
  /** Blocks that libtorch's CPU allocator has given out so far. */
  allocations(): number;
  /** What native code calls when an allocation inside an op wants room. */
  setCollector(collect: () => void): void;
  /** The bytes that V8 was told of for this thread, after settling. */
  reportedBytes(): number;
  /** Tells V8 of bytes that are no tensor's. */
  adjustExternal(bytes: number): void;

  /** Whether the addon can ask CUDA's caching allocator. */
  cudaHasAllocator(): boolean;
  /** Whether a library with CUDA is loaded. */
  cudaIsLinked(): boolean;
  cudaDeviceCount(): number;
  cudaCurrentDevice(): number;
  cudaSynchronize(device: number): void;
  cudaEmptyCache(): void;
  /** Bytes: allocated, reserved, peak allocated, peak reserved. */
  cudaMemory(device: number): number[];

  /** Ops recorded while `flags[5]` is not 0 go into the strand that was entered. See lib/async/strand.ts. */
  strandMailbox(onMail: () => void): void;
  strandOpen(): number;
  strandEnter(strand: number): void;
  /** Throws where ops are recorded, and may write to the tensor when they run. */
  strandRequireRead(handle: number): void;
  /** [dtype, device, ...shape] of a result that may not be there yet; null where nothing is known. */
  strandShadow(strand: number, code: number): (number | string)[] | null;
  /** `wanted`: the steps whose results are taken, null for all; false for what a failure left to do. */
  strandSubmit(strand: number, wanted: readonly number[] | null | false): boolean;
  /** Strands whose batches have ended. */
  strandMail(): number[];
  /** After a batch: whether all its ops ran. */
  strandSettle(strand: number): boolean;
  strandError(strand: number): unknown;
  strandCanRepeat(strand: number): boolean;
  strandTake(strand: number, step: number): unknown;
  strandCancel(strand: number): void;
  strandClose(strand: number): void;
  /** Threads, batches that run, batches that wait. */
  poolStatus(): number[];
  poolSetThreads(count: number): void;
  /** Waits for the ops that run; nothing more begins. */
  poolStop(): void;

  /** `bytes`: the uint8 tensor of an archive that lib/jit/archive.ts has examined. The model's token. */
  modelLoad(bytes: number, device: string | null): unknown;
  /**
   * The same of a file that is open: `held` are the bytes of the ranges [from, length, …], which were examined; the others are
   * read from the file.
   */
  modelLoadFile(fd: number, size: number, ranges: readonly number[], held: Uint8Array, device: string | null): unknown;
  /** The result as lib/jit/values.ts reads it, or the method's error. */
  modelCall(model: number, method: string, values: readonly unknown[]): unknown;
  modelTo(model: number, device: string): void;

  /** Whether this libtorch loads packages of AOTInductor. */
  hasPackages(): boolean;
  /** Of files that lib/inductor/archive.ts has unpacked. The package's token. */
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
  /** How arguments and result are nested, and how many tensors they are. */
  packageTrees(handle: number): [args: string, result: string, inputs: number, outputs: number];
  /** The result as lib/jit/values.ts reads it, or the model's error. `single`: it is one tensor. */
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
  /** Whether this processor can. */
  setFlushDenormal(mode: boolean): boolean;
  /** 0 highest, 1 high, 2 medium. */
  matmulPrecision(): number;
  setMatmulPrecision(precision: string): void;
  /** `sink` gets each error of native code before it is thrown, and the handle of the tensor that was disposed, or 0. */
  setErrorSink(sink: (error: TorchError, handle: number) => void): void;
  /** `sink` gets each warning of libtorch, after the op that gave it. */
  setWarningSink(sink: (text: string) => void): void;
  version(): string;
  config(): string;
  enums(): { dtypes: string[]; layouts: string[]; memoryFormats: string[] };
}

/** Live JS handles, the distinct storages behind them, and bytes. See `torch.memory`. */
export interface MemoryTotals {
  /** Live JS handles. */
  tensors: number;
  /** Distinct storages behind them. */
  storages: number;
  /** Bytes of those storages, each counted once. Memory borrowed from a typed array counts 0: V8 has it already. */
  bytes: number;
  /** Bytes that libtorch's allocators hold, whether a JS handle sees them or not. */
  allocatedBytes: number;
  /** The highest `allocatedBytes` so far; over several devices the sum of their highest. */
  peakAllocatedBytes: number;
}

export interface MemoryReport extends MemoryTotals {
  /** Tokens of `t.share()` that somebody may still take. A tensor that only a token holds is in `allocatedBytes` alone. */
  tokens: number;
  /** The same for each device that holds something or held it, and for the CPU. */
  devices: Record<string, MemoryTotals>;
}

const { addon, binding, libtorch } = load();

/** The folder of the JavaScript that codegen wrote for this addon. */
export const generatedFolder = binding.generated;
/** What the libraries of the libtorch at hand call themselves: 'libtorch_cpu.so.2.6'. */
export const libtorchNames: readonly string[] = Object.values(libtorch.sonames);
/** The addon's own file. */
export const addonFile = binding.addon;

function prepare(native: Native): Native {
  native.flags = new Uint32Array(native.flagsBuffer);
  native.result = new Float64Array(native.flagsBuffer, 8, 1);
  native.ints = new Float64Array(native.flagsBuffer, 24);
  native.setErrorSink(completeNative);
  shareTurn(native);
  return native;
}

export const native: Native = prepare(addon as Native);
