/** Calls each planted fault of scripts/sanitizer/planted.cpp in a separate Node process and expects its report. */
import { spawnSync } from 'node:child_process';
import { say } from './progress.mjs';
import { freshReports, plantedAddon, readReports, reportStatus, reportText, sanitizedNodeEnv } from './sanitizers.mjs';

/** A process may end by itself, or by process.exit with all objects in V8 still alive. */
const byItself = (call) => call;
const byExit = (call) => `${call}; process.exit(0)`;
/** The fault may happen in a worker, which ends by itself or is terminated. */
const start = (source) =>
  `const worker = new (require('node:worker_threads').Worker)(${JSON.stringify(source)}, { eval: true });`;
const inWorker = (call) => start(call);
const inStoppedWorker = (call) =>
  `${start(`${call}; require('node:worker_threads').parentPort.postMessage(1); for (;;);`)}
  worker.once('message', () => worker.terminate());`;

/** Fault, pattern that its report must match, and how the process runs and ends. */
const faults = [
  ['leak', /LeakSanitizer: detected memory leaks.* in leak .*planted\.cpp/s, byItself],
  ['leak', /LeakSanitizer: detected memory leaks.* in leak .*planted\.cpp/s, byExit],
  // The stack ends in libtorch, which is built without frame pointers.
  ['leak_tensor', /LeakSanitizer: detected memory leaks.*libtorch_cpu/s, byItself],
  ['leak_tensor', /LeakSanitizer: detected memory leaks.*libtorch_cpu/s, byExit],
  ['leak', /LeakSanitizer: detected memory leaks.* in leak .*planted\.cpp/s, inWorker],
  ['leak_tensor', /LeakSanitizer: detected memory leaks.*libtorch_cpu/s, inStoppedWorker],
  // Not with process.exit, after which the environment is still alive and holds its references.
  ['leak_reference', /LeakSanitizer: detected memory leaks.*napi_create_reference.* in leak_reference /s, byItself],
  ['use_after_free', /heap-use-after-free.*planted\.cpp/s, inWorker],
  ['use_after_dispose', /heap-use-after-free.*planted\.cpp/s, byItself],
  ['past_the_end', /heap-buffer-overflow.*planted\.cpp/s, byItself],
  ['wrong_delete', /alloc-dealloc-mismatch.*planted\.cpp/s, byItself],
  ['overflow', /planted\.cpp.*signed integer overflow/s, byItself],
];

/** @returns {import('./tally.mjs').Counts} */
export function plantedFaults() {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const [fault, expected, end] of faults) {
    const dir = freshReports('planted');
    const program = end(`require(${JSON.stringify(plantedAddon)}).${fault}()`);
    const { status, stderr } = spawnSync(process.execPath, ['-e', program], {
      env: sanitizedNodeEnv(dir),
      encoding: 'utf8',
    });
    const reports = readReports(dir);
    const seen = status === reportStatus && reports.length === 1 && expected.test(reports[0].text);
    counts[seen ? 'passed' : 'failed']++;
    if (!seen) say(`✗ ${fault} ${end.name} is not reported (status ${status}):\n${reportText(reports)}\n${stderr}`);
  }
  return counts;
}
