/**
 * npm run test:nodes [-- 22 24 …] [-- test/area …]: runs Jest with several releases of Node on the addon built here, and
 * prints a table. Only this command fetches Node's binaries, from npm into build/nodes. It does not rebuild the addon for
 * them: one binary must work with all.
 */
import path from 'node:path';
import { buildAll } from './steps/build.mjs';
import { runMain } from './steps/errors.mjs';
import { jestTests } from './steps/jest.mjs';
import { npmNode, versionOf } from './steps/node-binary.mjs';
import { say } from './steps/progress.mjs';

const all = ['20', '22', '24', '26'];
/** @returns {Promise<string>} the binary of a release of Node: this process's own, or npm's */
const nodeOf = async (major) => (process.version.startsWith(`v${major}.`) ? process.execPath : npmNode(major));

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
