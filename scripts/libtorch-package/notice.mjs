/** The licences of the packed libraries, from Debian's copyright files; a library under the GPL is an error. */
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { StepError } from '../steps/errors.mjs';

const paragraphs = (text) => text.split(/\n[ \t]*\n/);
const field = (paragraph, name) => {
  const match = new RegExp(`^${name}:[ \\t]*((?:.*)(?:\\n[ \\t]+.*)*)`, 'm').exec(paragraph);
  return match?.[1].trim();
};

/** The files of each paragraph of a copyright file whose licence is a GPL, an AGPL or an LGPL. @param {string} text */
export function copyleftFiles(text) {
  return paragraphs(text)
    .map((paragraph) => ({ files: field(paragraph, 'Files'), licence: field(paragraph, 'License')?.split('\n')[0] }))
    .filter(({ files, licence }) => files !== undefined && /GPL/i.test(licence ?? ''))
    .flatMap(({ files }) => files.split(/\s+/));
}

/**
 * Checks the copyright file of a package against what licences.json says about it.
 * @param {string} name
 * @param {string} text
 * @param {{ runtimeException?: boolean, notInside: Record<string, string> } | undefined} known
 */
export function checkLicence(name, text, known) {
  if (known === undefined) throw new StepError(`${name} is not in licences.json: read its licence, and add it.`);
  if (known.runtimeException) {
    if (/GCC Runtime Library Exception/.test(text)) return;
    throw new StepError(`The copyright file of ${name} lacks the GCC Runtime Library Exception.`);
  }
  const unknown = copyleftFiles(text).filter((files) => !(files in known.notInside));
  if (unknown.length === 0) return;
  throw new StepError(
    `${name} has files under the GPL, LGPL or AGPL that licences.json does not explain: ${unknown.join(', ')}.\n` +
      'Only files that are not in the libraries may be. Leave the library out, or say there why they are not inside.',
  );
}

const copyrightOf = ({ folder }, name) => {
  const file = path.join(folder, 'usr/share/doc', name, 'copyright');
  return existsSync(file) ? readFileSync(file, 'utf8') : null;
};

/**
 * @param {Map<string, { version: string, source: string, folder: string }>} packages
 * @param {Record<string, { licence: string, runtimeException?: boolean, notInside: Record<string, string> }>} licences
 * @returns {string} NOTICE
 */
export function noticeOf(packages, licences) {
  const texts = new Map();
  for (const name of Object.keys(licences)) {
    // GCC's libraries share one file.
    const text = copyrightOf(packages.get(name), name) ?? copyrightOf(packages.get('gcc-14-base'), 'gcc-14-base');
    if (text === null) throw new StepError(`${name} has no copyright file.`);
    checkLicence(name, text, licences[name]);
    const { source, version } = packages.get(name);
    const same = texts.get(text) ?? { source, version, names: [], licences: new Set() };
    same.names.push(name);
    same.licences.add(licences[name].licence);
    texts.set(text, same);
  }
  const rule = `\n${'='.repeat(80)}\n`;
  const parts = [...texts].map(([text, { source, version, names, licences: spdx }]) => {
    return `${rule}${names.join(', ')}: Debian's ${source} ${version}\n${[...spdx].join('; ')}${rule}\n${text.trimEnd()}\n`;
  });
  const commons = new Set([...texts.keys()].join('\n').match(/\/usr\/share\/common-licenses\/[A-Za-z]+(-[\d.]*\d)?/g));
  const folder = packages.get('base-files').folder;
  const common = [...commons].sort().map((file) => {
    return `${rule}${file}${rule}\n${readFileSync(realpathSync(path.join(folder, file)), 'utf8').trimEnd()}\n`;
  });
  const head = [
    'The libraries in lib/ are those of Debian, unchanged except for their ELF headers: where they look for each other, and which',
    'versions of the C and C++ libraries they require. liblibtorch_node_*.so are part of libtorch-node (MIT).',
    "Below are Debian's copyright files of the source packages, of which each library contains a part. GPL and LGPL texts are there",
    'because of files that are not compiled into a library, or that are offered under another licence too, which applies here.',
    'libgomp and libgfortran are under GPL-3.0-or-later with the GCC Runtime Library Exception, which allows any program to be',
    'linked with them and distributed under terms of its own. Their sources are those of Debian’s gcc-14 of the version below.',
  ];
  return `${head.join('\n')}\n${parts.join('')}${common.join('')}`;
}
