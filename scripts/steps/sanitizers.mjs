/** What a run under the sanitizers needs: their build, their environment, and the reports that its processes left. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { inRoot } from '../paths.mjs';
import { nodePrefix } from './addon.mjs';
import { StepError } from './errors.mjs';

/** A build folder of its own: everything native again, with the sanitizers. */
export const sanitizedDir = inRoot('build', 'cmake-asan');
export const sanitizedAddon = path.join(sanitizedDir, 'libtorch_node.node');
export const plantedAddon = path.join(sanitizedDir, 'planted.node');
/** The exit status of a process that was ended by a report. No test expects it of a child. */
export const reportStatus = 86;

/** -O1: the same faults in half the compile time. */
export function sanitizedDefinitions() {
  const prefix = nodePrefix();
  if (prefix === undefined)
    throw new StepError("Node's headers were not found; npm_config_nodedir names their prefix.");
  const addonApi = path.dirname(createRequire(import.meta.url).resolve('node-addon-api/package.json'));
  return [
    ...['-DCMAKE_BUILD_TYPE=None', '-DCMAKE_CXX_FLAGS=-O1', '-DLTN_SANITIZE=address,undefined', '-DLTN_ADDON=ON'],
    ...[`-DLTN_NODE_INCLUDE=${path.join(prefix, 'include', 'node')}`, `-DLTN_NODE_ADDON_API=${addonApi}`],
  ];
}

/** The runtime library that the compiler links against. */
function runtimeLibrary(name) {
  const file = execFileSync(process.env.CXX || 'c++', [`-print-file-name=${name}`], { encoding: 'utf8' }).trim();
  if (!path.isAbsolute(file)) throw new StepError(`The compiler has no ${name}; the sanitizers come with GCC.`);
  return realpathSync(file);
}

const supp = (name) => inRoot('scripts', 'sanitizer', name);

/**
 * Environment of programs that were linked with the sanitizers, the native tests.
 * @param {string} reports folder in which every process leaves what it reports, also when nobody reads its stderr
 * @returns {NodeJS.ProcessEnv}
 */
export function sanitizedEnv(reports) {
  const common = `exitcode=${reportStatus}:log_exe_name=1`;
  const asan = [
    // An allocation that cannot be is an error of the program's, here as without the sanitizer.
    ...['allocator_may_return_null=1', 'strict_string_checks=1', 'detect_stack_use_after_return=1'],
    ...['check_initialization_order=1', 'detect_leaks=1', `log_path=${path.join(reports, 'asan')}`],
    // GCC 12's runtime guesses where a library's thread-local block begins from the 16 bytes before it, which are its own
    // chunk header where the block begins a page; the leak checker then reads at 0x3e2f and dies ("Tracer caught signal
    // 11"). Unguessed, such a block counts as in use all the same: the dynamic linker allocates it (use_ld_allocations).
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
 * The same for a Node that loads the sanitized addon, and whatever it starts. The runtime must come before every other
 * library, hence LD_PRELOAD. It is inherited by programs that are not ours (python3, sh, a compiler), whose leaks are
 * nobody's business here, nor that make copies a part of a buffer with strndup, which the strict checks of strings refuse:
 * scripts/sanitizer/<program>.options turns both on, for node alone. The C++ library
 * comes with it, because the runtime looks up what it wraps of it (exceptions) when a process starts, and Python has no
 * C++ library then.
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

/** Lines in a report file that report no fault, with what they are. */
const remarks = [
  // The tests ask for allocations that cannot be; the sanitizer remarks that it returned null.
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
 * What the processes of a run reported: one entry for each that reported anything but remarks.
 * @param {string} dir
 * @returns {{ file: string, text: string }[]}
 */
export function readReports(dir) {
  return readdirSync(dir)
    .sort()
    .map((name) => ({ file: path.join(dir, name), text: readFileSync(path.join(dir, name), 'utf8') }))
    .filter(({ text }) => text.split('\n').some((line) => line.trim() && !remarks.some((known) => known.test(line))));
}

/** The first lines of each report, and where the rest is. */
export function reportText(reports, { lines = 30, most = 10 } = {}) {
  const shown = reports.slice(0, most).map(({ file, text }) => {
    const head = text.trim().split('\n').slice(0, lines).join('\n');
    return `--- ${path.relative(inRoot('.'), file)}\n${head}`;
  });
  if (reports.length > most) shown.push(`--- and ${reports.length - most} more in ${path.dirname(reports[0].file)}`);
  return shown.join('\n\n');
}
