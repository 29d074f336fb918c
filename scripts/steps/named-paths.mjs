/**
 * Lint: paths that comments and documents name must exist. A path begins with a folder of the checkout (`lib/observe/audit/heap.ts`,
 * `native/async/meta_results`), or ends in a file's name (`audit/heap.ts`) and then matches the end of any path.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { inRoot, root } from '../paths.mjs';
import { say } from './progress.mjs';

const FOLDERS = 'native|lib|cli|codegen|test|scripts|bench|docs|types|examples';
const BEFORE = String.raw`(?<![\w./@<-])`;
const IN_FOLDER = String.raw`(?:${FOLDERS})/[\w./*<>{}$-]*`;
const NAMED_FILE = String.raw`(?:[\w-]+/)+[\w.-]+\.(?:h|cpp|ts|mjs|cjs|yaml|supp)\b`;
const PATH = new RegExp(`${BEFORE}(?:${IN_FOLDER}|${NAMED_FILE})`, 'g');

/** Headers of libtorch and of the system, examples of a user's paths, and folders that are made. */
const ELSEWHERE = /^(?:ATen|torch|c10|linux|src|path|dist|build|prebuilds)\/|^docs\/api$|^test\/area$/;
const PATTERN = /[*<>{}$]/;

/** The part of a line in which paths count: all of a document's, the comment of a source's. */
const COMMENTS = [
  [/\.md$/, /.*/],
  [/\.(?:[mc]?[jt]s|h|cpp)$/, /(?:^\s*\*|\/\*|(?<!:)\/\/).*/],
  [/\.(?:ya?ml|gyp|sh|supp|cmake)$|(?:^|\/)CMakeLists\.txt$/, /(?:^|\s)#.*/],
];
/** Texts that are data of tests. */
const DATA = /^test\/(?:.*\/)?(?:fixtures|messages)\//;

/** Answers whether a path names a file or folder of the checkout; an ending such as `.cpp` may be absent. */
function known(files) {
  const names = new Set();
  for (const file of files) {
    const parts = file.split('/');
    for (let first = 0; first < parts.length; first++) {
      const below = parts.slice(first);
      names.add(below.join('/')).add(below.join('/').replace(/\.[^/]*$/, ''));
      if (first > 0) continue;
      for (let last = 1; last < parts.length; last++) names.add(parts.slice(0, last).join('/'));
    }
  }
  // By the build, from TypeScript, and by codegen, which a fresh clone has not run yet.
  const made = (name) =>
    names.has(name.replace(/\.js$/, '.ts')) || /^(?:native|lib|types)\/generated(?:\/|$)/.test(name);
  return (name) => names.has(name) || made(name) || existsSync(inRoot(name));
}

/**
 * The paths that one file names, with their lines.
 * @param {string} file its path in the checkout
 * @param {string} text
 */
export function namedPaths(file, text) {
  const comment = COMMENTS.find(([names]) => names.test(file))?.[1];
  if (comment === undefined || DATA.test(file)) return [];
  return text
    .split('\n')
    .flatMap((line, index) =>
      [...(comment.exec(line)?.[0] ?? '').matchAll(PATH)]
        .map(([found]) => ({ line: index + 1, found, name: found.replace(/[./-]+$/, '') }))
        .filter(({ found, name }) => !PATTERN.test(found) && !ELSEWHERE.test(name)),
    );
}

/** @returns {string[]} `file:line: path`, for each path that does not exist */
export function missingPaths() {
  const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' }).split('\0');
  const files = tracked.filter((file) => file !== '' && existsSync(inRoot(file)));
  const exists = known(files);
  return files.flatMap((file) =>
    namedPaths(file, readFileSync(inRoot(file), 'utf8'))
      .filter(({ name }) => !exists(name))
      .map(({ line, name }) => `${file}:${line}: ${name}`),
  );
}

/** Prints the paths that do not exist. */
export function lintPaths() {
  const missing = missingPaths();
  for (const line of missing) say(`${line} does not exist`);
  return missing.length === 0;
}
