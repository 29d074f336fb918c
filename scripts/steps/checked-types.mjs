/**
 * The declarations in dist/types are marked as checked. `npm run typecheck` checks their sources, and a test the packed ones;
 * the mark spares the programs that import them doing so again: without skipLibCheck a compiler works through every
 * signature of every op, which takes it as long as a large program of one's own.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { filesBelow } from './stamps.mjs';

const mark = '// @ts-nocheck: the package has checked its declarations\n';

export function markChecked() {
  for (const file of filesBelow(['dist/types'], ['.d.ts', '.d.mts'])) {
    const text = readFileSync(file, 'utf8');
    if (!text.startsWith(mark)) writeFileSync(file, mark + text);
  }
}
