/**
 * npm run test:nodes [-- 22 24 …] [-- test/area …]: runs Jest with several releases of Node on the addon built here, and
 * prints a table. Only this command fetches Node's binaries, from npm into build/nodes. It does not rebuild the addon for
 * them: one binary must work with all.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { inRoot } from './paths.mjs';
import { buildAll } from './steps/build.mjs';
import { runLogged } from './steps/command.mjs';
import { runMain, StepError } from './steps/errors.mjs';
import { jestTests } from './steps/jest.mjs';
import { say, step } from './steps/progress.mjs';

const all = ['20', '22', '24', '26'];
const platform = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;

const versionOf = (node) => spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout?.trim() ?? '';

/** @returns {Promise<string>} the binary of a release of Node: this process's own, or npm's */
async function nodeOf(major) {
  if (process.version.startsWith(`v${major}.`)) return process.execPath;
  const folder = inRoot('build', 'nodes', major);
  const name = `node-${platform}`;
  const binary = path.join(folder, 'node_modules', name, 'bin', 'node');
  if (!existsSync(binary)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, 'package.json'), '{ "private": true }\n');
    const args = ['install', '--ignore-scripts', '--no-save', '--no-audit', '--no-fund', '--prefix', folder];
    await step(`Node ${major} from npm`, () => runLogged(`node-${major}`, 'npm', [...args, `${name}@${major}`]));
  }
  if (!versionOf(binary).startsWith(`v${major}.`))
    throw new StepError(`expected Node ${major}, got ${versionOf(binary) || 'no version'} from ${binary}`);
  return binary;
}

await runMain(async () => {
  const split = process.argv.indexOf('--', 2);
  const words = process.argv.slice(2, split < 0 ? undefined : split);
  const areas = split < 0 ? words.filter((word) => !/^\d+$/.test(word)) : process.argv.slice(split + 1);
  const majors = words.filter((word) => /^\d+$/.test(word));
  await buildAll(['tests']);
  const rows = [];
  for (const major of majors.length > 0 ? majors : all) {
    const node = await nodeOf(major);
    say(`\n##### Node ${versionOf(node)}`);
    const start = Date.now();
    // npm, and programs that tests start by name, find this Node first.
    const env = { ...process.env, PATH: `${path.dirname(node)}${path.delimiter}${process.env.PATH}` };
    const { passed, failed, skipped } = await jestTests(areas, { env, node });
    const minutes = ((Date.now() - start) / 60_000).toFixed(1);
    rows.push({ version: versionOf(node).slice(1), passed, failed: failed + skipped, minutes });
  }
  console.log('| Node | passed | failed | minutes |\n| --- | --- | --- | --- |');
  for (const { version, passed, failed, minutes } of rows)
    console.log(`| ${version} | ${passed} | ${failed} | ${minutes} |`);
  process.exitCode = rows.every(({ passed, failed }) => passed > 0 && failed === 0) ? 0 : 1;
});
