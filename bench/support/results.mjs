/** bench/RESULTS.md has sections of different runs. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { inRoot } from '../../scripts/paths.mjs';

const file = inRoot('bench', 'RESULTS.md');
const read = () => (existsSync(file) ? readFileSync(file, 'utf8') : '# Benchmarks');
const separate = (text) => text.split(/^(?=## )/m).map((section) => section.trimEnd());
const join = (sections) => `${sections.join('\n\n')}\n`;
const isOf = (heading) => (section) => section.startsWith(`${heading}\n`);

/**
 * The results with the section of the same heading replaced, or with the section appended.
 * @param {string} results @param {string} heading @param {string} section
 */
export function withSection(results, heading, section) {
  const sections = separate(results);
  const at = sections.findIndex(isOf(heading));
  return join(sections.toSpliced(at < 0 ? sections.length : at, at < 0 ? 0 : 1, section.trimEnd()));
}

/** The new results, and of the old ones the section with this heading. @param {string} results @param {string} old */
export function keeping(results, old, heading) {
  return join([...separate(results), ...separate(old).filter(isOf(heading))]);
}

/** @param {string} heading @param {string} section */
export const writeSection = (heading, section) => writeFileSync(file, withSection(read(), heading, section));
/** Writes all but the section with this heading. @param {string} results @param {string} heading */
export const writeAllBut = (results, heading) => writeFileSync(file, keeping(results, read(), heading));
