/**
 * node scripts/release-check.mjs 1.13 2.6 …: checks that the package holds a binding for each of these versions of libtorch
 * and each processor that it has bindings for, this machine's among them, that all of its bindings were built for this
 * version of the package, and that all contain torch.distributed.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { libtorchModules } from './paths.mjs';
import { runMain, StepError } from './steps/errors.mjs';
import { prebuiltFolders } from './steps/prebuilds.mjs';

const {
  distributedName,
  packageVersion,
  platform: own,
  readInfo,
} = createRequire(import.meta.url)(libtorchModules('bindings.js'));

await runMain(async () => {
  const infos = prebuiltFolders().map(readInfo);
  const platformOf = ({ platform, arch }) => `${platform}-${arch}`;
  const without = prebuiltFolders().filter((dir) => !existsSync(path.join(dir, distributedName)));
  if (without.length > 0) {
    const names = without.map((dir) => path.basename(dir)).join(', ');
    throw new StepError(`Built without torch.distributed: ${names}. Install libgloo-dev and run \`npm run prebuild\`.`);
  }
  const stale = infos.filter((info) => info.package !== packageVersion());
  if (stale.length > 0)
    throw new StepError(`Some bindings are not of version ${packageVersion()}: run \`npm run prebuild\`.`);
  for (const platform of new Set([own, ...infos.map(platformOf)])) {
    const present = infos.filter((info) => platformOf(info) === platform).map(({ libtorch }) => libtorch.version);
    const missing = process.argv
      .slice(2)
      .filter((minor) => !present.some((version) => `${version}.`.startsWith(`${minor}.`)));
    if (missing.length > 0) {
      const others = present.join(', ') || 'none';
      throw new StepError(`No binding for libtorch ${missing.join(', ')} on ${platform}; there are ${others}.`);
    }
    console.log(`Bindings for libtorch ${present.join(', ')} on ${platform}.`);
  }
});
