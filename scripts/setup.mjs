/**
 * npm run setup [-- --tests] [-- --dry-run]: installs the packages that a build (and the tests) need; --dry-run only
 * prints the command that would install what is missing.
 */
import { runMain } from './steps/errors.mjs';
import { withLock } from './steps/lock.mjs';
import { missingPackages } from './steps/packages.mjs';
import { setUp } from './steps/setup.mjs';

const args = process.argv.slice(2);
/** @type {import('./steps/packages.mjs').Purpose[]} */
const purposes = args.includes('--tests') ? ['build', 'lint', 'tests'] : ['build'];

await runMain(async () => {
  if (!args.includes('--dry-run')) return withLock(() => setUp(purposes));
  const { missing, command } = missingPackages(purposes);
  console.log(missing.length > 0 ? command : 'No Debian package is missing.');
});
