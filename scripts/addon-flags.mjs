/**
 * The addon's compiler flags except those of libtorch (scripts/libtorch.mjs): for binding.gyp (`--defines`, `--cflags`)
 * and for `libtorch-node build`.
 */
import { fileURLToPath } from 'node:url';

/**
 * NAPI_EXPERIMENTAL with NAPI_VERSION undefined gives basic finalizers, which run during collection (ARCHITECTURE.md).
 * A terminated worker cannot throw any more, and node-addon-api must not abort the process because of that.
 */
export const defines = ['NAPI_EXPERIMENTAL', 'NAPI_CPP_EXCEPTIONS', 'NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS'];

export const cflags = ['-O2', '-fvisibility=hidden'];

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log((process.argv[2] === '--defines' ? defines : cflags).join('\n'));
}
