/** Compiles and links the addon, several files at a time, with progress on stderr. */
import { spawn } from 'node:child_process';
import { mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { cflags, defines } from '../addon-flags.mjs';
import { compileUnits } from '../compile-units.mjs';
import { compileFlags, linkFlags } from '../libtorch.mjs';
import { root } from '../paths.mjs';
import { StepError } from '../steps/errors.mjs';

const running = new Set();

/** Kills the running children when the build is interrupted. */
export const endChildren = () => {
  for (const child of running) child.kill();
};

/** The first error in a compiler's output is the cause; later ones follow from it. */
function causeIn(text) {
  const lines = text.trimEnd().split('\n');
  const first = lines.findIndex((line) => /\berror\b/i.test(line));
  return lines.slice(Math.max(0, first), first + 20).join('\n');
}

/** Runs one command; its output is shown only when it fails. */
export function runQuiet(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(child);
    let text = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        text = `${text}${chunk}`.slice(-200_000);
      });
    }
    child.once('error', (error) => {
      running.delete(child);
      reject(new StepError(`${command} could not be started: ${error.message}`));
    });
    child.once('close', (code, signal) => {
      running.delete(child);
      if (code === 0) return resolve(text);
      const why = signal === null ? `status ${code}` : `signal ${signal}`;
      const memory = signal === 'SIGKILL' || /Killed signal/.test(text);
      const hint = memory ? '\nIt was most likely out of memory: try again with --jobs 1.' : '';
      reject(new StepError(`${causeIn(text)}\n${path.basename(command)} failed (${why}): ${args.at(-1)}${hint}`));
    });
  });
}

/** Calls `work` for each item, `jobs` at a time. The first failure stops the rest. */
async function inParallel(items, jobs, work) {
  const rest = [...items];
  let failed = false;
  const lane = async () => {
    while (rest.length > 0 && !failed) {
      try {
        await work(rest.shift());
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const lanes = await Promise.allSettled(Array.from({ length: jobs }, lane));
  const error = lanes.find(({ status }) => status === 'rejected')?.reason;
  if (error !== undefined) throw error;
}

/**
 * @param {object} what
 * @param {string[]} what.sources full paths
 * @param {{ command: string, args: string[] }} what.compiler
 * @param {string[]} what.headers include folders of Node
 * @param {import('../libtorch.mjs').Libtorch} what.libtorch
 * @param {string} what.folder where object files go
 * @param {string} what.addon the file to write
 * @param {number} what.jobs
 * @param {{ cflags: string[], ldflags: string[] }} [what.extra] of the second addon
 * @param {(done: number, all: number, name: string) => void} what.onProgress
 */
export async function compileAddon({ sources, compiler, headers, libtorch, folder, addon, jobs, onProgress, extra }) {
  const own = (process.env.CXXFLAGS ?? '').split(/\s+/).filter(Boolean);
  const flags = [
    ...compiler.args,
    ...['-fPIC', '-pthread', '-D_FILE_OFFSET_BITS=64', '-DBUILDING_NODE_EXTENSION'],
    ...defines.map((name) => `-D${name}`),
    ...[root, ...headers].map((dir) => `-I${dir}`),
    ...cflags,
    ...compileFlags(libtorch),
    ...(extra?.cflags ?? []),
    ...own,
  ];
  mkdirSync(folder, { recursive: true });
  // The units and then the largest first, so that a long compilation does not run alone at the end.
  const bySize = [...sources].sort((a, b) => statSync(b).size - statSync(a).size);
  const units = compileUnits(bySize, path.join(folder, 'units'));
  const objectOf = (source) => path.join(folder, `${units.indexOf(source)}-${path.basename(source, '.cpp')}.o`);
  let done = 0;
  onProgress(0, units.length, '');
  await inParallel(units, jobs, async (source) => {
    await runQuiet(compiler.command, [...flags, '-o', objectOf(source), '-c', source]);
    done += 1;
    onProgress(done, units.length, path.basename(source));
  });
  const shape = process.platform === 'darwin' ? ['-bundle', '-undefined', 'dynamic_lookup'] : ['-shared', '-Wl,-s'];
  await runQuiet(compiler.command, [
    ...compiler.args,
    ...[...shape, '-pthread', ...units.map(objectOf)],
    ...[...linkFlags(libtorch), ...(extra?.ldflags ?? []), '-o', addon],
  ]);
}
