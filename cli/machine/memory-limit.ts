/** How much memory a process may use: its control group's limit, or the machine's memory. */
import * as os from 'node:os';
import { readCgroup } from './cgroup';

export interface MemoryLimit {
  bytes: number;
  from: 'cgroup' | 'machine';
}

/** The smallest limit that applies. `root`: the folder that contains /proc and /sys. */
export function memoryLimit(root = '/'): MemoryLimit {
  const { memory, memoryHigh } = readCgroup(root);
  const group = Math.min(memory?.bytes ?? Number.POSITIVE_INFINITY, memoryHigh?.bytes ?? Number.POSITIVE_INFINITY);
  const machine = os.totalmem();
  return group < machine ? { bytes: group, from: 'cgroup' } : { bytes: machine, from: 'machine' };
}
