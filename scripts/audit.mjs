/**
 * npm run audit: the registry's advisories on the packages of the lock file (`npm audit`).
 *
 * It fails on any advisory on a runtime dependency, and on those of level high and critical on the tools: developers run
 * the tools, but never on untrusted input. Other advisories are only printed. It also fails when the registry does not
 * answer.
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
    report = {}; // npm failed and says why on stderr
  }
  if (report.vulnerabilities === undefined)
    throw new StepError(
      `expected advisories from the registry, got: ${report.message ?? (stderr.trim() || 'nothing')}\nThe audit has no result.`,
    );
  return report.vulnerabilities;
}

/** The advisories on the package itself; empty for a package that only depends on an affected one. */
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
  if (refused.length > 0)
    throw new StepError(`These advisories block a release: ${refused.map(({ name }) => name).join(', ')}.`);
  console.log(
    `${Object.keys(packages).length - 1} packages, ${found.length} with advisories; none of them blocks a release.`,
  );
});
