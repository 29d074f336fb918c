export { LibtorchError } from './error';

/** A libtorch by its files; nothing of it is loaded. */
export interface Runtime {
  /** What named it: 'LIBTORCH', 'LIBTORCH_LIB', 'LIBTORCH_USE_PYTORCH' or 'system'. */
  origin: string;
  /** Folder of the shared libraries. */
  lib: string;
  /** The libraries by name ('c10', 'torch_cpu', …), in the order of loading. */
  files: Record<string, string>;
  /** Such as '1.13.0', or '1.13' where only the libraries say it. */
  version: string;
  /** The C++ ABI of its strings: 'old' in PyTorch's wheels before 2.6. */
  abi: 'new' | 'old';
  /** Whether its libraries have CUDA. */
  cuda: boolean;
  /** What each library calls itself, such as 'libc10.so.1.13'; empty where that is not told (macOS). */
  sonames: Record<string, string>;
}

/** One with headers, to build for. */
export interface Libtorch extends Runtime {
  /** Folder that holds ATen/, c10/ and torch/. */
  include: string;
  /** Every include folder, the C++ frontend's with it. */
  includes: string[];
  /** The C++ standard its headers ask for, at least 17. */
  cxxStandard: number;
  /** Full path of ATen/RegistrationDeclarations.h. */
  registrationHeader: string;
  /** Folder of the CUDA toolkit's headers, where there is CUDA and they were found. */
  cudaInclude: string | null;
}

export function findRuntime(env?: NodeJS.ProcessEnv): Runtime;
export function findLibtorch(env?: NodeJS.ProcessEnv): Libtorch;
/** Whether the environment names a libtorch, so that the system's is not looked at. */
export function isNamed(env?: NodeJS.ProcessEnv): boolean;
export const systemIncludes: readonly string[];
export const systemLibs: readonly string[];
