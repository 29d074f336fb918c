/**
 * Calls under valgrind's memcheck, which sees what libtorch reads and writes outside of a block although nothing ends the process:
 * npm run fuzz -- --valgrind --only 'searchsorted|embedding'. About a hundred times slower.
 *
 * A block that was freed and made again is seen as one: the library keeps blocks for the next tensor. And a read far outside may
 * meet another block. So silence proves little.
 */
'use strict';

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

/** Calls of one process, which takes half a minute to start. */
const BATCH = 1_000;
/** memcheck knows neither the instructions of V8's compiler nor AVX-512; what is not initialized is not asked. */
const VALGRIND = [
  ...['--quiet', '--smc-check=all-non-file', '--error-limit=no', '--num-callers=12', '--max-stackframe=4000000'],
  '--undef-value-errors=no',
];
const FAULT = /^(Invalid (?:read|write) of size \d+|Process terminating .*|Jump to the invalid address .*)$/;
/** Reports about the dynamic linker and the detection of the processor, which are not ours to fix. */
const OTHERS = /_dl_|dl-load|cpuinfo/;

/** The reports of a child: what each says, the functions, and the plan of the call. */
function reportsOf(stderr) {
  const found = [];
  let plan;
  let block = [];
  const flush = () => {
    const what = block.find((line) => FAULT.test(line));
    if (what !== undefined && plan !== undefined && !block.some((line) => OTHERS.test(line))) {
      const frames = block.filter((line) => /^ +(?:at|by) 0x/.test(line)).map((line) => line.replace(/^.*?: /, ''));
      found.push({ kind: what, plan, detail: frames.slice(0, 6).join('\n') });
    }
    block = [];
  };
  for (const line of stderr.split('\n')) {
    if (line.startsWith('call ')) {
      flush();
      plan = JSON.parse(line.slice('call '.length));
    } else if (/^==\d+== ?$/.test(line)) flush();
    else if (line.startsWith('==')) block.push(line.replace(/^==\d+== ?/, ''));
  }
  flush();
  return found;
}

function runBatch(lib, options) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'libtorch-node-memcheck-'));
  const given = JSON.stringify({ ...options, trace: true, progress: path.join(folder, 'progress') });
  const program = [process.execPath, '--jitless', '--expose-gc', path.join(__dirname, 'child.cjs'), lib, given];
  const env = { ...process.env, NODE_NO_WARNINGS: '1', OMP_NUM_THREADS: '1', OPENBLAS_NUM_THREADS: '1' };
  return new Promise((resolve, reject) => {
    const child = spawn('valgrind', [...VALGRIND, ...program], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...env, OPENBLAS_CORETYPE: 'Haswell' },
      cwd: folder,
    });
    let stderr = '';
    child.stderr.on('data', (data) => (stderr += data));
    child.on('error', reject); // valgrind is not installed
    child.on('close', (code) => {
      fs.rmSync(folder, { recursive: true, force: true });
      resolve({ code, stderr });
    });
  });
}

/** The first report of each kind for each target; `told` is called with it at once. */
async function memcheck(lib, { seed, calls, only }, told) {
  const seen = new Map();
  for (let first = 0; first < calls; first += BATCH) {
    const { code, stderr } = await runBatch(lib, { seed, only, first, end: Math.min(calls, first + BATCH) });
    if (!stderr.includes('\ncall ')) throw new Error(`the child made no call: status ${code}\n${stderr.slice(-2000)}`);
    for (const report of reportsOf(stderr)) {
      const key = `${report.kind} ${report.plan.target}`;
      if (!seen.has(key)) told(report);
      seen.set(key, report);
    }
  }
  return [...seen.values()];
}

module.exports = { memcheck, reportsOf };
