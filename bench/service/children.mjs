/** Child processes do not outlive the bench. */
const children = new Set();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/** @param {import('node:child_process').ChildProcess} child */
export function endWithUs(child) {
  children.add(child);
  child.once('close', () => children.delete(child));
}
