/** Finds the npm command that started this script: npm tells a script its own name, but not whether it runs as a hook. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** @returns {[string, string] | null} the parent's number and the command line of a process */
function look(pid) {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return [/^PPid:\s*(\d+)/m.exec(status)[1], readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')];
  } catch {
    const { stdout } = spawnSync('ps', ['-o', 'ppid=,args=', '-p', String(pid)], { encoding: 'utf8' }); // no /proc here
    const match = /^\s*(\d+)\s+(.*)/.exec(stdout ?? '');
    return match === null ? null : [match[1], match[2]];
  }
}

/** The command lines of this process's ancestors, nearest first. npm's is its title, such as "npm run build". */
function ancestors() {
  const lines = [];
  for (let pid = process.ppid; pid > 1 && lines.length < 6; ) {
    const found = look(pid);
    if (found === null) break; // unknown: the script counts as a hook
    lines.push(found[1]);
    pid = Number(found[0]);
  }
  return lines;
}

/**
 * Whether this process runs only because npm runs `pre<name>` before `<name>`.
 * @param {string} script its own name
 */
export function isOnlyHook(script) {
  if (process.env.npm_lifecycle_event !== script) return false;
  return !ancestors().some((line) => new RegExp(`\\brun(-script)?\\b.*\\b${script}\\b`).test(line));
}
