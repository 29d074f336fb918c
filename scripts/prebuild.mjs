/** npm run prebuild: what the package brings in prebuilds/, one binding for each libtorch. */
import { buildAll } from './steps/build.mjs';
import { runMain } from './steps/errors.mjs';
import { isOnlyHook } from './steps/hook.mjs';

await runMain(async () => {
  // npm runs a script of this name before `npm run build` too, where nobody asked for it.
  if (isOnlyHook('prebuild')) return;
  await buildAll();
});
