/**
 * The README of the package is the page of the registry, where relative links lead nowhere. Before packing, links and images
 * become absolute, at the tag of the release; after packing, the checkout's README returns.
 *
 *   node scripts/steps/registry-readme.mjs --write | --restore
 */
import { existsSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { inRoot } from '../paths.mjs';

const readme = inRoot('README.md');
/** Not in build/, which may not exist. Git ignores the ending; npm packs README.*, but no name with a dot first. */
const saved = inRoot('.readme-before-pack.log');

const CODE = /^( *)(```+)[\s\S]*?^\1\2$|(`+)[^`][\s\S]*?\3(?!`)/gm;
/** Images and links, also an image in a link; definitions of links; the attributes of HTML. */
const LINK =
  /(!\[[^\]]*)?(\]\(\s*<?)([^)\s>]+)|^()(\[[^\]]+\]:\s+)(\S+)|(<img\b[^>]*?\b)(src=")([^"]+)|()(\bhref=")([^"]+)/gm;
const isAbsolute = (target) => /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(target);

/**
 * @param {string} text Markdown
 * @param {{ version: string, repository: { url: string } }} manifest
 */
export function forRegistry(text, { version, repository }) {
  const address = repository.url.replace(/^git\+/, '').replace(/\.git$/, '');
  const absolute = (target, isPicture) => {
    if (isAbsolute(target) || target.startsWith('#')) return target;
    return `${address}/${isPicture ? 'raw' : 'blob'}/v${version}/${target.replace(/^\.?\//, '')}`;
  };
  const prose = (part) =>
    part.replace(LINK, (...groups) => {
      const at = [1, 4, 7, 10].find((first) => groups[first + 2] !== undefined);
      const [mark, before, target] = [groups[at] ?? '', groups[at + 1], groups[at + 2]];
      return `${mark}${before}${absolute(target, mark !== '')}`;
    });
  let [done, from] = ['', 0];
  for (const code of text.matchAll(CODE)) {
    done += prose(text.slice(from, code.index)) + code[0];
    from = code.index + code[0].length;
  }
  return done + prose(text.slice(from));
}

/** Brings the checkout's README back, if it was replaced. */
export function restoreReadme() {
  if (existsSync(saved)) renameSync(saved, readme);
}

/** Replaces the README by the registry's. What an interrupted packing left is undone first. */
export function writeRegistryReadme() {
  restoreReadme();
  const text = readFileSync(readme, 'utf8');
  const changed = forRegistry(text, JSON.parse(readFileSync(inRoot('package.json'), 'utf8')));
  writeFileSync(`${saved}.part`, text);
  renameSync(`${saved}.part`, saved); // complete before the README changes
  writeFileSync(readme, changed);
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const form = { '--write': writeRegistryReadme, '--restore': restoreReadme }[process.argv[2]];
  if (form === undefined) {
    console.error('usage: node scripts/steps/registry-readme.mjs --write | --restore');
    process.exit(2);
  }
  form();
}
