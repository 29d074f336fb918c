/**
 * torch.cuda: CUDA devices and their memory. Without CUDA as in PyTorch: no device is available, figures are 0, and functions
 * that need a device throw ERR_TORCH_CUDA.
 */
import type { Device, DeviceLike } from '../../types/base';
import { native } from '../addon/native';
import { argumentError, codedError, type TorchError } from '../errors/errors';
import { buildCommand } from '../libtorch/bindings';

/** The memory of CUDA's caching allocator on one device. */
export interface CudaMemory {
  /** Allocated bytes, with or without a JS handle. */
  allocatedBytes: number;
  /** Bytes reserved from the device: `allocatedBytes` plus the cache of free blocks. */
  reservedBytes: number;
  /** The highest `allocatedBytes` so far. */
  peakAllocatedBytes: number;
  /** The highest `reservedBytes` so far. */
  peakReservedBytes: number;
}

/** Whether there is a device that tensors can be made on. */
export const isAvailable = (): boolean => deviceCount() > 0;

/** The number of CUDA devices; 0 if libtorch has no CUDA, or the machine has no device or driver. */
export const deviceCount = (): number => native.cudaDeviceCount();

/** The index of the device that `'cuda'` refers to. */
export function currentDevice(): number {
  demandDevice('cuda.currentDevice');
  return native.cudaCurrentDevice();
}

/** Waits until a device (default: the current one) has finished all queued work. */
export function synchronize<const V extends string = Device>(device?: DeviceLike<V> | number): void {
  demandDevice('cuda.synchronize');
  native.cudaSynchronize(deviceIndex('cuda.synchronize', device));
}

/**
 * Returns cached free memory to the devices, for other processes; libtorch itself reuses it anyway. Unreachable tensors that
 * are not collected yet do not count as free: dispose them, or make them in a scope. Does nothing without CUDA.
 */
export function emptyCache(): void {
  if (!isAvailable()) return;
  demandAllocator('cuda.emptyCache');
  native.cudaEmptyCache();
}

/** The allocator's memory on a device (default: the current one). Zeros without CUDA, as in PyTorch. */
export function memory<const V extends string = Device>(device?: DeviceLike<V> | number): CudaMemory {
  const index = deviceIndex('cuda.memory', device);
  if (isAvailable()) demandAllocator('cuda.memory');
  const [allocatedBytes = 0, reservedBytes = 0, peakAllocatedBytes = 0, peakReservedBytes = 0] =
    native.cudaMemory(index);
  return { allocatedBytes, reservedBytes, peakAllocatedBytes, peakReservedBytes };
}

/** The index for 0, 'cuda' or 'cuda:0'. If there are devices, it must be one of them. */
function deviceIndex(fn: string, device: unknown): number {
  const count = deviceCount();
  if (device === undefined || device === 'cuda') return count === 0 ? 0 : native.cudaCurrentDevice();
  const index = typeof device === 'string' ? Number(/^cuda:(\d{1,3})$/.exec(device)?.[1] ?? Number.NaN) : device;
  if (typeof index !== 'number' || !Number.isInteger(index) || index < 0) {
    throw argumentError(fn, 'device', "a device number, 'cuda' or 'cuda:N'", device);
  }
  if (count > 0 && index >= count) throw argumentError(fn, 'device', `one of ${count} CUDA devices`, device);
  return index;
}

function demandDevice(fn: string): void {
  if (isAvailable()) return;
  throw cudaError(
    fn,
    native.cudaIsLinked()
      ? 'libtorch has CUDA, but finds no device: check whether `nvidia-smi` lists one, and whether CUDA_VISIBLE_DEVICES hides it'
      : `this libtorch has no CUDA: unpack one that has, set LIBTORCH to its folder and run ${buildCommand()}`,
  );
}

function demandAllocator(fn: string): void {
  if (native.cudaHasAllocator()) return;
  throw cudaError(
    fn,
    `the addon was built without the CUDA toolkit's headers (cuda_runtime_api.h): install the toolkit, set CUDA_HOME to its folder and run ${buildCommand({ force: true })}`,
  );
}

const cudaError = (fn: string, text: string): TorchError =>
  Object.assign(codedError(Error, 'ERR_TORCH_CUDA', `${fn}: ${text}`), { op: fn });
