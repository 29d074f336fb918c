/**
 * The generated sources for a libtorch: those of the package for this release of libtorch, those of the checkout's own
 * build, or the output of codegen, run now.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { addonSources, generatedSources } from '../gyp-sources.mjs';
import { inRoot, libtorchModules, root } from '../paths.mjs';
import { StepError } from '../steps/errors.mjs';
import { jobs } from '../steps/jobs.mjs';
import { say, step } from '../steps/progress.mjs';
import { runQuiet } from './compile.mjs';
import { findCompiler, firstLine } from './toolchain.mjs';

const { readInfo } = createRequire(import.meta.url)(libtorchModules('bindings.js'));

const minorOf = (version) => version.split('.').slice(0, 2).join('.');

/** Folders in the package that hold generated sources, for any platform: the sources do not depend on it. */
function packed() {
  const prebuilds = inRoot('prebuilds');
  if (!existsSync(prebuilds)) return [];
  return readdirSync(prebuilds).flatMap((platform) =>
    readdirSync(path.join(prebuilds, platform))
      .map((name) => path.join(prebuilds, platform, name))
      .filter((dir) => existsSync(path.join(dir, 'sources')) && readInfo(dir) !== null),
  );
}

/** The version of libtorch that the checkout was built for, or null. */
function checkoutVersion() {
  const table = inRoot('lib', 'generated', 'table.js');
  if (!existsSync(table) || generatedSources().length === 0) return null;
  return createRequire(import.meta.url)(table).libtorchVersion;
}

const cppIn = (dir) =>
  readdirSync(dir)
    .filter((name) => name.endsWith('.cpp'))
    .sort()
    .map((name) => path.join(dir, name));

/**
 * @param {import('../libtorch.mjs').Libtorch} libtorch
 * @param {string | null} scratch a folder for codegen to write into; null: only the package's sources count
 * @returns {Promise<{ sources: string[], javascript: string }>}
 */
export async function sourcesFor(libtorch, scratch) {
  const hand = addonSources({ generated: false }).map((name) => inRoot(name));
  const minor = minorOf(libtorch.version);
  const found = packed().find((dir) => minorOf(readInfo(dir).libtorch.version) === minor);
  if (found !== undefined) {
    return { sources: [...hand, ...cppIn(path.join(found, 'sources'))], javascript: path.join(found, 'generated') };
  }
  const own = scratch === null ? null : checkoutVersion();
  if (own !== null && minorOf(own) === minor) {
    return {
      sources: [...hand, ...generatedSources().map((name) => inRoot(name))],
      javascript: inRoot('lib', 'generated'),
    };
  }
  if (scratch === null) {
    throw new StepError(
      `There are no generated sources for libtorch ${libtorch.version}: run \`npm run prebuild\` first, which makes the ` +
        "bindings for this machine's processor.",
    );
  }
  await runCodegen(libtorch, scratch);
  return {
    sources: [...hand, ...cppIn(path.join(scratch, 'native', 'generated'))],
    javascript: path.join(scratch, 'lib', 'generated'),
  };
}

function needs(libtorch, what) {
  const brought = packed().map((dir) => minorOf(readInfo(dir).libtorch.version));
  return new StepError(
    `The package brings generated sources for libtorch ${brought.join(', ') || '(none)'}. For ${libtorch.version} codegen ` +
      `writes them from libtorch's headers, and ${what}.\n` +
      'Codegen needs CMake, make and yaml-cpp: on Debian or Ubuntu apt-get install cmake make libyaml-cpp-dev.',
  );
}

async function runCodegen(libtorch, scratch) {
  const missing = ['cmake', 'make'].filter((program) => firstLine(program, ['--version']) === null);
  if (missing.length > 0)
    throw needs(libtorch, `${missing.join(' and ')} ${missing.length > 1 ? 'were' : 'was'} not found`);
  if (libtorch.abi === 'old') throw needs(libtorch, 'it cannot be linked with a libtorch of the old C++ ABI');
  say(`No generated sources for libtorch ${libtorch.version} in the package: codegen writes them.`);
  const build = path.join(scratch, 'codegen');
  mkdirSync(build, { recursive: true });
  const { command } = findCompiler();
  await step('codegen: compiling the generators', async () => {
    const settings = [
      ...['CMAKE_BUILD_TYPE=Release', 'BUILD_TESTING=OFF', `CMAKE_CXX_COMPILER=${command}`],
      ...[`TORCH_INCLUDE_DIRS=${libtorch.includes.join(';')}`, `TORCH_LIB_DIR=${libtorch.lib}`],
      `CODEGEN_TORCH_CXX_STANDARD=${libtorch.cxxStandard}`,
    ];
    try {
      const definitions = settings.map((setting) => `-D${setting}`);
      await runQuiet('cmake', [...definitions, '-G', 'Unix Makefiles', '-B', build, '-S', path.join(root, 'codegen')]);
    } catch (error) {
      if (/yaml-cpp/.test(error.message)) throw needs(libtorch, 'yaml-cpp was not found');
      throw error;
    }
    await runQuiet('cmake', ['--build', build, '-j', String(jobs()), '--target', 'declarations', 'bindings']);
  });
  const program = (name) => [path.join(build, name), path.join(build, 'bin', name)].find((file) => existsSync(file));
  const declarations = path.join(scratch, 'Declarations.yaml');
  await step('codegen: writing the sources', async () => {
    await runQuiet(program('declarations'), ['--include', libtorch.include, '--out', declarations]);
    const args = ['--declarations', declarations, '--spec', inRoot('codegen', 'spec'), '--out', scratch];
    await runQuiet(program('bindings'), [...args, '--ledger', path.join(scratch, 'ledger')]);
  });
  const written = path.join(scratch, 'lib', 'generated', 'table.js');
  if (!existsSync(written) || readFileSync(written, 'utf8').length === 0) {
    throw new StepError(`codegen wrote no ${written}.`);
  }
}
