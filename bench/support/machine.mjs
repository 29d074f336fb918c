/** The hardware and versions of a run, without the machine's name. */
import { execFileSync } from 'node:child_process';
import os from 'node:os';
import { findLibtorch } from '../../scripts/libtorch.mjs';

function compiler() {
  try {
    return execFileSync(process.env.CXX || 'c++', ['--version'], { encoding: 'utf8' }).split('\n')[0];
  } catch {
    return 'unknown';
  }
}

/** @param {string} detail the name of the plan @param {Date} [now] */
export function machine(detail, now = new Date()) {
  const cpus = os.cpus();
  const memory = `${(os.totalmem() / 2 ** 30).toFixed(1)} GiB`;
  return [
    `${now.toISOString().slice(0, 10)}, ${detail}.`,
    `${cpus[0]?.model.trim() ?? os.arch()}, ${cpus.length} cores, ${memory}; ${os.type()} ${os.arch()}; ` +
      `load average at the start ${os.loadavg()[0].toFixed(1)}.`,
    `Node ${process.version}, libtorch ${findLibtorch().version}, ${compiler()}.`,
  ].join('\n');
}
