/** Starts the probe, collects what it finds, and adds what the machine says. */
import { fork } from 'node:child_process';
import * as os from 'node:os';
import * as path from 'node:path';
import { version } from '../version';
import { type CgroupLimits, readCgroup } from './cgroup';
import type { ProbeMessage, ProbeResults } from './probe';

/** Everything that doctor knows; judge.ts says what it means. */
export interface Findings {
  package: string;
  node: string;
  napi: string;
  platform: string;
  cores: number;
  physicalBytes: number;
  cgroup: CgroupLimits;
  probe: Partial<ProbeResults>;
  /** Steps that failed. */
  failures: { step: keyof ProbeResults; code: string | null; message: string }[];
  /** How the probe's process ended when it did not end well: 'SIGSEGV', 'exit status 1'. */
  crashed: string | null;
  /** What it wrote to stderr. */
  stderr: string;
}

const LIMIT_MS = 120_000;

export async function examine(root: string): Promise<Findings> {
  const findings: Findings = {
    package: version(),
    node: process.versions.node,
    napi: process.versions.napi ?? '?',
    platform: `${process.platform} ${process.arch}`,
    cores: os.availableParallelism(),
    physicalBytes: os.totalmem(),
    cgroup: readCgroup(root),
    probe: {},
    failures: [],
    crashed: null,
    stderr: '',
  };
  await runProbe(findings);
  return findings;
}

function runProbe(findings: Findings): Promise<void> {
  return new Promise((resolve) => {
    const child = fork(path.join(__dirname, 'probe.js'), {
      execArgv: ['--expose-gc'],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    const limit = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
    child.stderr!.on('data', (chunk) => {
      findings.stderr = `${findings.stderr}${chunk}`.slice(0, 4000);
    });
    child.on('message', (message: ProbeMessage) => {
      if ('error' in message) findings.failures.push({ step: message.step, ...message.error });
      else Object.assign(findings.probe, { [message.step]: message.value });
    });
    child.on('error', (error) => {
      findings.crashed = error.message; // could not be started: no 'close' follows
      clearTimeout(limit);
      resolve();
    });
    child.on('close', (code, signal) => {
      clearTimeout(limit);
      if (signal !== null) findings.crashed = signal;
      else if (code !== 0) findings.crashed = `exit status ${code}`;
      resolve();
    });
  });
}
