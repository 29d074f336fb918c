/**
 * npm run fuzz: builds what is missing, then calls everything with hostile values; arguments go to test/fuzz/fuzz.cjs. With
 * --fence the calls are made over an addon whose tensors lie between pages that cannot be touched.
 */
import { inRoot } from './paths.mjs';
import { buildAll } from './steps/build.mjs';
import { runShown } from './steps/command.mjs';
import { runMain } from './steps/errors.mjs';
import { fencedEnv } from './steps/fenced.mjs';

const args = process.argv.slice(2);
const isFenced = args.some((arg) => /^--fence(=|$)/.test(arg));

await runMain(async () => {
  await buildAll();
  const env = isFenced ? await fencedEnv() : process.env;
  process.exitCode = await runShown(process.execPath, [inRoot('test', 'fuzz', 'fuzz.cjs'), ...args], { env });
});
