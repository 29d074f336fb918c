/** npm run bench:cuda: builds what is missing, unless --app names an installed package, then compares with PyTorch on a GPU. */
import { inRoot } from './paths.mjs';
import { buildAll } from './steps/build.mjs';
import { runShown } from './steps/command.mjs';
import { runMain } from './steps/errors.mjs';

await runMain(async () => {
  const args = process.argv.slice(2);
  if (!args.includes('--app')) await buildAll();
  process.exitCode = await runShown(process.execPath, [inRoot('bench', 'cuda', 'run.mjs'), ...args]);
});
