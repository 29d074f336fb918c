/**
 * Merges the declarations for several versions of libtorch: the result has all names, and the comment of a name that not
 * all versions have says which do. Overloads of a name are those of the newest libtorch, then those of older ones only.
 */
import ts from 'typescript';

/** @typedef {{ version: string, text: string }} Source */

const parse = (text) => ts.createSourceFile('x.d.ts', text, ts.ScriptTarget.Latest, true);

/** A node's text with the comment before it, and without. */
const full = (node) =>
  node
    .getFullText()
    .replace(/^\s*\n/, '')
    .trimEnd();
const bare = (node) => node.getText().replace(/\s+/g, ' ');

/** Adds a remark to the comment before a declaration, or adds a comment. */
function remark(text, words) {
  const indent = /^[ \t]*/.exec(text)[0];
  return /^\s*\/\*\*/.test(text) ? text.replace('/**', `/** ${words}`) : `${indent}/** ${words} */\n${text}`;
}

/** "Since libtorch 2.6." or "In libtorch 1.13 only."; null if all versions have it. */
function availability(versions, all) {
  if (versions.length === all.length) return null;
  const newest = all.length - versions.length;
  if (versions.every((version, i) => version === all[newest + i])) return `Since libtorch ${versions[0]}.`;
  return `In libtorch ${versions.join(', ')} only.`;
}

const nameOf = (node) => node.name?.getText() ?? node.declarationList?.declarations[0].name.getText() ?? null;

/** Nodes of several sources, by name and version. Order of names: the newest version's, then those of older ones. */
function byName(lists) {
  const found = new Map();
  for (const { version, nodes } of [...lists].reverse()) {
    for (const node of nodes) {
      const name = nameOf(node);
      if (!found.has(name)) found.set(name, new Map());
      const versions = found.get(name);
      versions.set(version, [...(versions.get(version) ?? []), node]);
    }
  }
  return found;
}

/** The object type of a member such as `aten: { … }`, else null. */
const nested = (node) =>
  ts.isPropertySignature(node) && node.type && ts.isTypeLiteralNode(node.type) ? node.type : null;

/** @param {{ version: string, nodes: readonly ts.Node[] }[]} lists oldest first */
function mergeMembers(lists) {
  const all = lists.map(({ version }) => version);
  const lines = [];
  for (const [, versions] of byName(lists)) {
    const have = all.filter((version) => versions.has(version));
    const newest = versions.get(have.at(-1));
    const words = availability(have, all);
    const inner = nested(newest[0]);
    if (inner !== null && have.length > 1) {
      const parts = have.map((version) => ({ version, nodes: nested(versions.get(version)[0])?.members ?? [] }));
      const head = full(newest[0]).slice(0, -inner.getText().length - (newest[0].getText().endsWith(';') ? 1 : 0));
      const body = `${head}{\n${mergeMembers(parts)}\n};`;
      lines.push(words === null ? body : remark(body, words));
      continue;
    }
    const seen = new Set();
    let first = true;
    for (const version of [...have].reverse()) {
      // A property has one type, a method may have several signatures.
      if (!first && !ts.isMethodSignature(versions.get(version)[0])) break;
      for (const node of versions.get(version)) {
        if (seen.has(bare(node))) continue;
        seen.add(bare(node));
        lines.push(first && words !== null ? remark(full(node), words) : full(node));
        first = false;
      }
    }
  }
  return lines.join('\n');
}

/** The named imports of all files, by module. */
function mergeImports(files) {
  const modules = new Map();
  for (const statement of files.flatMap(({ file }) => file.statements).filter(ts.isImportDeclaration)) {
    const from = statement.moduleSpecifier.getText();
    const names = statement.importClause?.namedBindings?.elements?.map((element) => element.getText()) ?? [];
    modules.set(from, new Set([...(modules.get(from) ?? []), ...names]));
  }
  return [...modules].map(([from, names]) => `import type { ${[...names].sort().join(', ')} } from ${from};`);
}

/**
 * @param {Source[]} sources the versions of one file for each libtorch, oldest first
 * @returns {string}
 */
export function mergeDeclarations(sources) {
  if (sources.length === 1) return sources[0].text;
  const files = sources.map(({ version, text }) => ({ version, file: parse(text) }));
  const all = files.map(({ version }) => version);
  const lists = files.map(({ version, file }) => ({
    version,
    nodes: file.statements.filter((statement) => !ts.isImportDeclaration(statement)),
  }));
  const parts = ['// Merged from what codegen wrote for several libtorchs. Do not edit.', ...mergeImports(files)];
  for (const [, versions] of byName(lists)) {
    const have = all.filter((version) => versions.has(version));
    const [newest] = versions.get(have.at(-1));
    const words = availability(have, all);
    let text = full(newest);
    if (ts.isInterfaceDeclaration(newest) && have.length > 1) {
      const members = have.map((version) => ({
        version,
        nodes: versions.get(version).flatMap((node) => [...node.members]),
      }));
      const head = text.slice(0, text.indexOf('{', text.indexOf('interface ')) + 1);
      text = `${head}\n${mergeMembers(members)}\n}`;
    }
    parts.push(words === null ? text : remark(text, words));
  }
  return `${parts.join('\n')}\n`;
}
