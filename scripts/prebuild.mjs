/**
 * npm run prebuild [-- --here | release…]: fills prebuilds/ with one binding per libtorch: this machine's, and those of
 * the Debian releases of `npm run matrix`, built in their roots. `--here` builds only this machine's. `--arch arm64
 * [release…]` builds those for arm64 with a cross compiler: the one for the libtorch that `npm run package:libtorch -- --arch
 * arm64` has packed, or those for the libtorch of the named releases of Debian.
 */
import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { crossBinding } from './libtorch-package/cross.mjs';
import { systems, targets } from './libtorch-package/targets.mjs';
import { inRoot } from './paths.mjs';
import { buildAll } from './steps/build.mjs';
import { runMain, StepError } from './steps/errors.mjs';
import { isOnlyHook } from './steps/hook.mjs';
import { ensurePackages } from './steps/packages.mjs';
import { prebuildsDir, prebuiltFolders } from './steps/prebuilds.mjs';
import { say } from './steps/progress.mjs';

const args = process.argv.slice(2);

/** Copies the bindings that a build in a root has put into the copy of the checkout there. */
function take(copy) {
  const from = path.join(copy, 'prebuilds');
  for (const platform of readdirSync(from)) {
    for (const name of readdirSync(path.join(from, platform))) {
      const to = path.join(prebuildsDir, platform, name);
      rmSync(to, { recursive: true, force: true });
      cpSync(path.join(from, platform, name), to, { recursive: true });
    }
  }
}

async function buildInRoots() {
  const [suite, roots] = ['suite.mjs', 'roots.mjs'].map((name) => inRoot('scripts', 'matrix', name));
  if (!existsSync(suite)) {
    say('scripts/matrix is missing: only the binding of this machine is built.');
    return;
  }
  const { runInCopy } = await import(suite);
  const { releases } = await import(roots);
  const unknown = args.filter((release) => !releases.includes(release));
  if (unknown.length > 0) {
    throw new StepError(`unknown: ${unknown.join(' ')}\nusage: npm run prebuild [-- --here | ${releases.join(' | ')}]`);
  }
  for (const release of args.length > 0 ? args : releases) {
    say(`\n##### Debian ${release}`);
    const { status, copy } = await runInCopy(release, ['node', 'scripts/build.mjs']);
    if (status !== 0) throw new StepError(`The build in ${release} ended with status ${status}.`);
    take(copy);
  }
}

async function buildFor(arch, named) {
  const unknown = named.filter((release) => !(release in systems));
  if (!(arch in targets) || unknown.length > 0) {
    const usage = `--arch ${Object.keys(targets).join(' | ')} [${Object.keys(systems).join(' | ')}]`;
    throw new StepError(
      `expected a processor and releases, got ${[arch ?? 'nothing', ...unknown].join(' ')}\nusage: npm run prebuild -- ${usage}`,
    );
  }
  await ensurePackages(['cross']);
  for (const release of named.length > 0 ? named : [undefined]) {
    say(path.relative(inRoot('.'), await crossBinding(arch, release)));
  }
}

await runMain(async () => {
  // npm also runs a script of this name as a hook before `npm run build`.
  if (isOnlyHook('prebuild')) return;
  if (args[0] === '--arch') return buildFor(args[1], args.slice(2));
  if (!args.includes('--here')) await buildInRoots();
  await buildAll(); // last, because it describes all bindings in prebuilds/
  for (const folder of prebuiltFolders()) say(path.relative(inRoot('.'), folder));
});
