/**
 * npm run audit: what is known against the packages of the lock file, asked of the registry (`npm audit`).
 *
 * A release is refused for any advisory on a package that comes with ours, and for those of level high and critical on
 * the tools. Those are run by whoever builds this, but on nothing that a stranger sends. The rest is printed.
 * An audit that the registry does not answer is refused too.
 */
import { spawnSync } from 'node:child_process';
import { root } from './paths.mjs';
import { runMain, StepError } from './steps/errors.mjs';
import { readLockFile } from './steps/lock-file.mjs';

const refusedInTools = ['high', 'critical'];

/** @returns {Record<string, { name: string, severity: string, via: unknown[], nodes: string[] }>} */
function advisories() {
  const { stdout, stderr, error } = spawnSync('npm', ['audit', '--json', '--package-lock-only'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (error) throw new StepError(`npm could not be run: ${error.message}`);
  let report;
  try {
    report = JSON.parse(stdout);
  } catch {
    report = {}; // npm's own failure, which it tells on stderr
  }
  if (report.vulnerabilities === undefined)
    throw new StepError(
      `expected advisories from the registry, got: ${report.message ?? (stderr.trim() || 'nothing')}\nNothing is known.`,
    );
  return report.vulnerabilities;
}

/** What an entry says itself; without it the package only depends on one that does. */
const titles = (via) => via.filter((cause) => typeof cause === 'object').map(({ title, url }) => `${title} (${url})`);

await runMain(async () => {
  const { packages } = readLockFile();
  const isTool = ({ nodes }) => nodes.every((place) => packages[place]?.dev === true);
  const found = Object.values(advisories());
  const refused = found.filter((entry) => !isTool(entry) || refusedInTools.includes(entry.severity));
  for (const entry of found) {
    const causes = titles(entry.via).map((title) => `\n  ${title}`);
    console.log(
      `${entry.severity}: ${entry.name}, ${isTool(entry) ? 'a tool' : 'comes with the package'}${causes.join('')}`,
    );
  }
  if (refused.length > 0) throw new StepError(`No release with these: ${refused.map(({ name }) => name).join(', ')}.`);
  console.log(
    `${Object.keys(packages).length - 1} packages, ${found.length} with advisories, none that a release is refused for.`,
  );
});
