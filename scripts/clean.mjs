/** npm run clean: removes everything that a build writes; node_modules stays. */
import { rmSync } from 'node:fs';
import { inRoot } from './paths.mjs';
import { filesBelow } from './steps/stamps.mjs';

for (const dir of ['build', 'dist', 'prebuilds', 'native/generated', 'lib/generated', 'types/generated']) {
  rmSync(inRoot(dir), { recursive: true, force: true });
}
for (const file of filesBelow(['examples'], ['.js'])) rmSync(file);
