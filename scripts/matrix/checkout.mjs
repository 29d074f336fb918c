/**
 * The checkout inside a root: a copy, because a build writes into its tree, and the files generated for one libtorch must
 * not mix with those for another. Only changed files are copied again, so a second run rebuilds as little as outside.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { root } from '../paths.mjs';
import { StepError } from '../steps/errors.mjs';

/** Names the files of the last copy, so that a file deleted here is deleted there too. */
const listName = '.copied';

/** Tracked files, and untracked ones that git does not ignore. */
function sourceFiles() {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const { status, stdout, stderr, error } = spawnSync('git', args, { cwd: root, maxBuffer: 2 ** 28, encoding: 'utf8' });
  if (error || status !== 0) {
    throw new StepError(`git could not list the checkout's files: ${error?.message ?? stderr.trim()}`);
  }
  return [...new Set(stdout.split('\0').filter((name) => name !== '' && existsSync(path.join(root, name))))].sort();
}

const sameContent = (from, to) =>
  existsSync(to) && statSync(to).size === statSync(from).size && readFileSync(to).equals(readFileSync(from));

/** @param {string} folder of the copy */
export function copyCheckout(folder) {
  mkdirSync(folder, { recursive: true });
  const list = path.join(folder, listName);
  const before = existsSync(list) ? readFileSync(list, 'utf8').split('\0') : [];
  const files = sourceFiles();
  const wanted = new Set(files);
  for (const name of before) if (name !== '' && !wanted.has(name)) rmSync(path.join(folder, name), { force: true });
  // Written before the files, or an interruption would leave unlisted files.
  writeFileSync(list, [...new Set([...before, ...files])].join('\0'));
  for (const name of files) {
    const [from, to] = [path.join(root, name), path.join(folder, name)];
    if (!sameContent(from, to)) {
      mkdirSync(path.dirname(to), { recursive: true });
      cpSync(from, to);
    }
    chmodSync(to, statSync(from).mode);
  }
  writeFileSync(list, files.join('\0'));
}
