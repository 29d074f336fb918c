/** npm run clean: removes everything that a build writes; node_modules stays. */
import { rmSync } from 'node:fs';
import { inRoot } from './paths.mjs';

for (const dir of ['build', 'dist', 'prebuilds', 'native/generated', 'lib/generated', 'types/generated']) {
  rmSync(inRoot(dir), { recursive: true, force: true });
}
