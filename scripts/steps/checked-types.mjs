/**
 * Marks the declarations in dist/types as checked. `npm run typecheck` checks their sources, and a test the packed ones.
 * Without the mark and without skipLibCheck, a compiler checks every signature of every op again for each program that
 * imports them, which takes as long as checking a large program. The types of the Jest matcher are added to those of `expect`,
 * which the library cannot resolve in every layout of node_modules (pnpm): an error without the mark.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { filesBelow } from './stamps.mjs';

const mark = '// @ts-nocheck: the package has checked its declarations\n';

export function markChecked() {
  for (const file of filesBelow(['dist/types', 'dist/lib/testing/jest.d.ts'], ['.d.ts', '.d.mts'])) {
    const text = readFileSync(file, 'utf8');
    if (!text.startsWith(mark)) writeFileSync(file, mark + text);
  }
}
