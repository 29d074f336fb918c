/**
 * npm run matrix [-- release…] [--fresh] [-- command…]: builds the tree and runs the whole suite inside Debian releases
 * with other libtorch versions, and prints a table. --fresh recreates the roots. A command after a second `--` runs
 * instead of the suite, in the copy of the checkout: `npm run matrix -- trixie -- node node_modules/jest/bin/jest.js
 * test/ops`. --able only checks whether this machine can run such roots; if not, it prints why and exits with status 1.
 */
import { releases, requireMachine } from './matrix/roots.mjs';
import { runInCopy, runSuite, tableOf } from './matrix/suite.mjs';
import { runMain, StepError } from './steps/errors.mjs';
import { say } from './steps/progress.mjs';

const split = process.argv.indexOf('--');
const words = process.argv.slice(2, split < 0 ? undefined : split);
const command = split < 0 ? [] : process.argv.slice(split + 1);

await runMain(async () => {
  if (words.length === 1 && words[0] === '--able') return requireMachine();
  const unknown = words.filter((word) => word !== '--fresh' && !releases.includes(word));
  if (unknown.length > 0) {
    throw new StepError(`unknown: ${unknown.join(' ')}\nusage: npm run matrix [-- ${releases.join(' | ')}] [--fresh]`);
  }
  const named = releases.filter((release) => words.includes(release));
  const chosen = named.length > 0 ? named : releases;
  const fresh = words.includes('--fresh');
  if (command.length > 0) {
    for (const release of chosen) {
      const { status } = await runInCopy(release, command, { fresh });
      if (status !== 0) throw new StepError(`${release}: ${command.join(' ')} ended with status ${status}`);
    }
    return;
  }
  const outcomes = [];
  for (const release of chosen) {
    say(`\n##### Debian ${release}`);
    outcomes.push(await runSuite(release, { fresh }));
  }
  console.log(tableOf(outcomes));
  process.exitCode = outcomes.every(({ failed }) => failed === 0) ? 0 : 1;
});
