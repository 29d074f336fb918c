export { LibtorchError } from './error';

/** A libtorch, identified from its files without loading it. */
export interface Runtime {
  /** How it was found: 'LIBTORCH', 'LIBTORCH_LIB', 'LIBTORCH_USE_PYTORCH', 'system' or 'npm'. */
  origin: string;
  /** Folder of the shared libraries. */
  lib: string;
  /** The libraries by name ('c10', 'torch_cpu', …), in the order of loading. */
  files: Record<string, string>;
  /** Such as '1.13.0', or '1.13' if only the libraries have it. */
  version: string;
  /** The C++ ABI of its strings: 'old' in PyTorch's wheels before 2.6. */
  abi: 'new' | 'old';
  /** Whether it supports CUDA. */
  cuda: boolean;
  /** The soname of each library, such as 'libc10.so.1.13'; empty on macOS and Windows. */
  sonames: Record<string, string>;
  /** The BLAS of an npm package that brings libtorch, such as 'OpenBLAS 0.3.29'. */
  blas?: string;
}

/** A libtorch with headers, to build against. */
export interface Libtorch extends Runtime {
  /** Folder that contains ATen/, c10/ and torch/. */
  include: string;
  /** All include folders, including the C++ frontend's. */
  includes: string[];
  /** The C++ standard that its headers require, at least 17. */
  cxxStandard: number;
  /** Full path of ATen/RegistrationDeclarations.h. */
  registrationHeader: string;
  /** Folder of the CUDA toolkit's headers; null without CUDA or if they were not found. */
  cudaInclude: string | null;
  /** Folder of NCCL's headers that pip brings beside PyTorch's wheel; null without it. */
  ncclInclude: string | null;
}

/** What decides the names and folders of libtorch's files; tests name another than this machine. */
export type Machine = Pick<NodeJS.Process, 'platform' | 'arch'>;

export function findRuntime(env?: NodeJS.ProcessEnv, machine?: Machine): Runtime;
export function findLibtorch(env?: NodeJS.ProcessEnv, machine?: Machine): Libtorch;
/** Whether the environment names a libtorch, so that the system's is not searched. */
export function isNamed(env?: NodeJS.ProcessEnv): boolean;
export const systemIncludes: readonly string[];
export const systemLibs: readonly string[];
