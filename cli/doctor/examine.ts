/** Runs the probe and collects its results and facts about the machine. */
import { fork } from 'node:child_process';
import * as os from 'node:os';
import * as path from 'node:path';
import { candidates, isCheckout, whyNot } from '../../lib/libtorch/bindings';
import { LibtorchError } from '../../lib/libtorch/error';
import { findRuntime, type Runtime } from '../../lib/libtorch/find';
import { version } from '../files/version';
import { type CgroupLimits, readCgroup } from '../machine/cgroup';
import type { ProbeMessage, ProbeResults } from './probe';

/** Everything that doctor finds; judge.ts interprets it. */
export interface Findings {
  package: string;
  node: string;
  napi: string;
  platform: string;
  cores: number;
  physicalBytes: number;
  cgroup: CgroupLimits;
  /** Whether this is a checkout, which is built with npm, or an installed package. */
  checkout: boolean;
  /** Null if there is a `libtorchError`. */
  libtorch: Runtime | null;
  libtorchError: string | null;
  /** The environment variables that select a libtorch or an addon. */
  variables: Record<string, string>;
  /** Candidate addons in order, with the reason why one does not fit, or was refused because others can write there. */
  addons: { from: string; file: string; problem: string | null; refused: boolean }[];
  probe: Partial<ProbeResults>;
  /** Steps that failed. */
  failures: { step: keyof ProbeResults; code: string | null; message: string }[];
  /** How the probe's process failed: 'SIGSEGV', 'exit status 1'. */
  crashed: string | null;
  /** Its output to stderr. */
  stderr: string;
}

const VARIABLES = [
  ...['LIBTORCH', 'LIBTORCH_INCLUDE', 'LIBTORCH_LIB', 'LIBTORCH_USE_PYTORCH', 'LIBTORCH_NODE_ADDON'],
  ...['LIBTORCH_NODE_CACHE', 'LD_LIBRARY_PATH', 'LD_PRELOAD', 'ATEN_CPU_CAPABILITY'],
];

const MAX_PROBE_MS = 120_000;

export async function examine(root: string): Promise<Findings> {
  const findings: Findings = {
    package: version(),
    node: process.versions.node,
    napi: process.versions.napi ?? '?',
    platform: `${process.platform} ${process.arch}`,
    cores: os.availableParallelism(),
    physicalBytes: os.totalmem(),
    cgroup: readCgroup(root),
    checkout: isCheckout,
    ...discover(),
    variables: Object.fromEntries(
      VARIABLES.filter((name) => process.env[name]).map((name) => [name, process.env[name]!]),
    ),
    probe: {},
    failures: [],
    crashed: null,
    stderr: '',
  };
  await runProbe(findings);
  return findings;
}

/** What the library would choose. Only reads files. */
function discover(): Pick<Findings, 'libtorch' | 'libtorchError' | 'addons'> {
  let libtorch: Runtime;
  try {
    libtorch = findRuntime();
  } catch (error) {
    if (!(error instanceof LibtorchError)) throw error;
    return { libtorch: null, libtorchError: error.message, addons: [] };
  }
  const addons = candidates().map((binding) => ({
    from: binding.from,
    file: binding.addon,
    problem: whyNot(binding, libtorch),
    refused: binding.refused !== null,
  }));
  return { libtorch, libtorchError: null, addons };
}

function runProbe(findings: Findings): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = fork(path.join(__dirname, 'probe.js'), {
      execArgv: ['--expose-gc'],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    const limit = setTimeout(() => child.kill('SIGKILL'), MAX_PROBE_MS);
    child.on('error', (error) => {
      clearTimeout(limit); // could not be started, so there is no 'close'
      reject(error);
    });
    child.stderr?.on('data', (chunk) => {
      findings.stderr = `${findings.stderr}${chunk}`.slice(0, 4000);
    });
    child.on('message', (message: ProbeMessage) => {
      if ('error' in message) findings.failures.push({ step: message.step, ...message.error });
      else Object.assign(findings.probe, { [message.step]: message.value });
    });
    child.on('close', (code, signal) => {
      clearTimeout(limit);
      if (signal !== null) findings.crashed = signal;
      else if (code !== 0) findings.crashed = `exit status ${code}`;
      resolve();
    });
  });
}
