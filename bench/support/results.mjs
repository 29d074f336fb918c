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

/**
 * The results with each of these sections in place of the one of the same heading, or appended, below the lines of its run.
 * @param {string} results @param {string} sections @param {string} run
 */
export const withSections = (results, sections, run) =>
  separate(sections).reduce((all, section) => {
    const [heading, ...rest] = section.split('\n\n');
    return withSection(all, heading, [heading, run, ...rest].join('\n\n'));
  }, results);

/** @param {string} heading @param {string} section */
export const writeSection = (heading, section) => writeFileSync(file, withSection(read(), heading, section));
/** @param {string} sections @param {string} run the lines of `machine` */
export const writeSections = (sections, run) => writeFileSync(file, withSections(read(), sections, run));
