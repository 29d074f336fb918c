/**
 * Marks the declarations of the package as checked. `npm run typecheck` checks their sources, and a test the packed ones.
 * Without the mark and without skipLibCheck, a compiler checks every signature of every op again for each program that
 * imports them, which takes as long as checking a large program. It also reports what the program's settings lack and the
 * program may not need: Symbol.dispose of `esnext.disposable`, AbortSignal of `dom`, and the types of `expect`, which not every
 * layout of node_modules (pnpm) lets the library resolve.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { filesBelow } from './stamps.mjs';

const mark = '// @ts-nocheck: the package has checked its declarations\n';

export function markChecked() {
  for (const file of filesBelow(['dist/types', 'dist/lib'], ['.d.ts', '.d.mts'])) {
    const text = readFileSync(file, 'utf8');
    if (!text.startsWith(mark)) writeFileSync(file, mark + text);
  }
}
