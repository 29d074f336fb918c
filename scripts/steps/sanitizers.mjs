/** The build, the environment and the reports of a run under the sanitizers. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { inRoot } from '../paths.mjs';
import { nodePrefix } from './addon.mjs';
import { StepError } from './errors.mjs';

/** A separate build folder for all native code, compiled with the sanitizers. */
export const sanitizedDir = inRoot('build', 'cmake-asan');
export const sanitizedAddon = path.join(sanitizedDir, 'libtorch_node.node');
export const plantedAddon = path.join(sanitizedDir, 'planted.node');
/** The exit status of a process that a report ended. Tests do not expect it of any child. */
export const reportStatus = 86;

/**
 * What builds the whole addon with CMake, compiled with `flags` only.
 * @param {string} flags
 */
export function addonDefinitions(flags) {
  const prefix = nodePrefix();
  if (prefix === undefined)
    throw new StepError("Node's headers were not found; npm_config_nodedir names their prefix.");
  const addonApi = path.dirname(createRequire(import.meta.url).resolve('node-addon-api/package.json'));
  return [
    ...['-DCMAKE_BUILD_TYPE=None', `-DCMAKE_CXX_FLAGS=${flags}`, '-DLTN_ADDON=ON'],
    ...[`-DLTN_NODE_INCLUDE=${path.join(prefix, 'include', 'node')}`, `-DLTN_NODE_ADDON_API=${addonApi}`],
  ];
}

/** -O1: the same faults in half the compile time. */
export const sanitizedDefinitions = () => [...addonDefinitions('-O1'), '-DLTN_SANITIZE=address,undefined'];

/** The runtime library that the compiler links against. */
function runtimeLibrary(name) {
  const file = execFileSync(process.env.CXX || 'c++', [`-print-file-name=${name}`], { encoding: 'utf8' }).trim();
  if (!path.isAbsolute(file)) throw new StepError(`The compiler does not have ${name}; the sanitizers come with GCC.`);
  return realpathSync(file);
}

const supp = (name) => inRoot('scripts', 'sanitizer', name);

/**
 * The environment of programs linked with the sanitizers: the native tests.
 * @param {string} reports folder for the reports of all processes, also of those whose stderr is discarded
 * @returns {NodeJS.ProcessEnv}
 */
export function sanitizedEnv(reports) {
  const common = `exitcode=${reportStatus}:log_exe_name=1`;
  const asan = [
    // An impossible allocation returns null, as without the sanitizer, instead of ending the process.
    ...['allocator_may_return_null=1', 'strict_string_checks=1', 'detect_stack_use_after_return=1'],
    ...['check_initialization_order=1', 'detect_leaks=1', `log_path=${path.join(reports, 'asan')}`],
    // GCC 12's runtime guesses the start of a library's thread-local block from the 16 bytes before it. For a block at the
    // start of a page these are its own chunk header; the leak checker then reads at 0x3e2f and crashes ("Tracer caught
    // signal 11"). Without the guess the block still counts as in use, because the dynamic linker allocates it
    // (use_ld_allocations).
    'intercept_tls_get_addr=0',
  ];
  const ubsan = [`suppressions=${supp('ubsan.supp')}`, 'print_stacktrace=1', 'halt_on_error=1'];
  return {
    ...process.env,
    ASAN_OPTIONS: `${common}:${asan.join(':')}:${process.env.ASAN_OPTIONS ?? ''}`,
    LSAN_OPTIONS: `suppressions=${supp('lsan.supp')}:print_suppressions=0:${process.env.LSAN_OPTIONS ?? ''}`,
    UBSAN_OPTIONS: `${common}:${ubsan.join(':')}:${process.env.UBSAN_OPTIONS ?? ''}`,
    LTN_UBSAN_LOG: reports,
  };
}

/**
 * The environment of a Node that loads the sanitized addon, and of its children. The runtime must be loaded before every
 * other library, hence LD_PRELOAD. Foreign programs (python3, sh, a compiler) inherit it. Their leaks do not matter here,
 * and make copies part of a buffer with strndup, which the strict string checks refuse, so both checks are off except
 * where scripts/sanitizer/<program>.options turns them on: for node only. The C++ library is preloaded too, because the
 * runtime looks up the functions it wraps (exceptions) when a process starts, and Python has not loaded that library then.
 */
export function sanitizedNodeEnv(reports) {
  const env = sanitizedEnv(reports);
  const preload = [runtimeLibrary('libasan.so'), runtimeLibrary('libstdc++.so'), process.env.LD_PRELOAD];
  return {
    ...env,
    LD_PRELOAD: preload.filter(Boolean).join(':'),
    ASAN_OPTIONS: `${env.ASAN_OPTIONS}:detect_leaks=0:strict_string_checks=0:include_if_exists=${supp('%b.options')}`,
    LIBTORCH_NODE_ADDON: sanitizedAddon,
  };
}

/** Lines in a report file that do not report a fault. */
const remarks = [
  // Tests request impossible allocations; the sanitizer reports that it returned null.
  /^==.*WARNING: AddressSanitizer failed to allocate 0x[0-9a-f]+ bytes$/,
];

/** An empty folder for the reports of a run. */
export function freshReports(name) {
  const dir = inRoot('build', 'sanitizer-reports', name);
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  return dir;
}

/**
 * The reports of a run: one entry for each process that reported more than remarks.
 * @param {string} dir
 * @returns {{ file: string, text: string }[]}
 */
export function readReports(dir) {
  return readdirSync(dir)
    .sort()
    .map((name) => ({ file: path.join(dir, name), text: readFileSync(path.join(dir, name), 'utf8') }))
    .filter(({ text }) => text.split('\n').some((line) => line.trim() && !remarks.some((known) => known.test(line))));
}

/** The first lines of each report, and the path of its file. */
export function reportText(reports, { lines = 30, most = 10 } = {}) {
  const shown = reports.slice(0, most).map(({ file, text }) => {
    const head = text.trim().split('\n').slice(0, lines).join('\n');
    return `--- ${path.relative(inRoot('.'), file)}\n${head}`;
  });
  if (reports.length > most) shown.push(`--- and ${reports.length - most} more in ${path.dirname(reports[0].file)}`);
  return shown.join('\n\n');
}
