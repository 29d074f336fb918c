/**
 * The modules that docs/api is generated from. In the declarations, ops are members of a few interfaces, which would give
 * a few pages of a thousand entries each. In these modules, each op is a function, which gets a page of its own.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { inRoot } from '../paths.mjs';

export const apiSources = inRoot('build', 'api');

const parse = (file) => ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);

/** Each interface of a file of declarations: its name and members. */
function interfacesOf(name) {
  const file = parse(inRoot('types', 'generated', `${name}.d.ts`));
  return new Map(file.statements.filter(ts.isInterfaceDeclaration).map((each) => [each.name.text, each.members]));
}

/** The imports of a file of declarations, with paths relative to build/api. */
function importsOf(name) {
  const file = parse(inRoot('types', 'generated', `${name}.d.ts`));
  return file.statements
    .filter(ts.isImportDeclaration)
    .map((each) => each.getText().replace(/'\.\.\/(\.\.\/)?/, (_, up) => (up ? "'../../" : "'../../types/")))
    .map((text) => text.replace("'./", "'../../types/generated/"))
    .join('\n');
}

/** torch.async repeats all ops, which have their own pages. */
const asyncText = `
export { asyncPool, run, type Arrived, type AsyncPool, type PendingTensor, type RunOptions } from '../../types/async';
/**
 * Every op, run on a thread of the pool: \`await torch.async.matmul(a, b)\`. It takes the arguments of the op of the same
 * name and, as one more argument, \`{ signal }\`, and returns a promise of the result.
 */
export interface AsyncFunctions { readonly [op: string]: (...args: unknown[]) => Promise<unknown> }
/** The ops, off the event loop. */
declare const asyncFunctions: AsyncFunctions;
export { asyncFunctions as async };
`;

/** The module's exports besides the ops, and the names among them, which ops must not have. */
function handWritten() {
  const file = parse(inRoot('types', 'index.d.ts'));
  const exported = file.statements.filter(
    (each) =>
      ts.isExportDeclaration(each) &&
      !/generated\/(exports|functions|methods|ops)$|\/async$/.test(each.moduleSpecifier.text),
  );
  const named = exported.filter((each) => each.exportClause && !each.isTypeOnly);
  return {
    text: exported.map((each) => each.getText().replace("'../", "'../../").replace("'./", "'../../types/")).join('\n'),
    names: named.flatMap(({ exportClause }) =>
      ts.isNamespaceExport(exportClause)
        ? [exportClause.name.text]
        : exportClause.elements.map((element) => element.name.text),
    ),
  };
}

const isType = (node) => ts.isTypeAliasDeclaration(node) || ts.isInterfaceDeclaration(node);

/** The names of types that a declaration uses and does not declare itself. */
function namesIn(declaration) {
  const used = new Set();
  const own = new Set();
  const visit = (node) => {
    if (ts.isTypeReferenceNode(node)) used.add(node.typeName.getText());
    if (ts.isTypeParameterDeclaration(node)) own.add(node.name.text);
    ts.forEachChild(node, (child) => {
      visit(child);
    });
  };
  visit(declaration);
  return [...used].filter((name) => !own.has(name));
}

/**
 * The internal types of the algebra that its documented types use, as typedoc's list of types that are not exported on
 * purpose. Readers of signatures do not need them.
 */
export function inner() {
  const dir = inRoot('types', 'algebra');
  const files = new Map(readdirSync(dir).map((name) => [name, parse(path.join(dir, name))]));
  const shown = new Set();
  const exported = (node) => node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
  const typesOf = (file) => files.get(file).statements.filter(isType);
  for (const each of files.get('index.d.ts').statements.filter(ts.isExportDeclaration)) {
    const file = `${each.moduleSpecifier.text.slice(2)}.d.ts`;
    const names = each.exportClause?.elements.map((element) => element.name.text);
    for (const type of typesOf(file).filter(exported)) {
      if (names === undefined || names.includes(type.name.text)) shown.add(`${file}:${type.name.text}`);
    }
  }
  const hidden = new Set();
  for (const [name, file] of files) {
    const from = new Map(typesOf(name).map((type) => [type.name.text, name]));
    for (const each of file.statements.filter(ts.isImportDeclaration)) {
      const [, other] = /^\.\/(\w+)$/.exec(each.moduleSpecifier.text) ?? [];
      if (!other) continue;
      for (const element of each.importClause.namedBindings.elements) from.set(element.name.text, `${other}.d.ts`);
    }
    for (const type of typesOf(name)) {
      if (!shown.has(`${name}:${type.name.text}`)) continue;
      for (const used of namesIn(type)) {
        const key = `${from.get(used)}:${used}`;
        if (from.has(used) && !shown.has(key)) hidden.add(`types/algebra/${key}`);
      }
    }
  }
  return [...hidden];
}

/** The text with `Options<X>` replaced by X, when `opening` is "Options<". */
function unwrapped(text, opening) {
  const start = new RegExp(`\\b${opening}`);
  for (let at = text.search(start); at >= 0; at = text.search(start)) {
    let depth = 0;
    let end = at + opening.indexOf('<');
    do {
      if (text[end] === '<') depth++;
      if (text[end] === '>' && text[end - 1] !== '=') depth--;
      end++;
    } while (depth > 0);
    text = text.slice(0, at) + text.slice(at + opening.length, end - 1) + text.slice(end);
  }
  return text;
}

/** As the signature is in `torch`, which shares it with `torch.async` (types/calls.d.ts). */
const inTorch = (text) =>
  ['In<K, ', 'Result<K, ']
    .reduce(unwrapped, text)
    .replace(/\bOut<K, /g, 'TensorOf<')
    .replace(/\bFitsIn<K, /g, 'Fits<')
    .replace(/ & Sig\b| \| Promises\b|(, )?\.\.\.rest: Rest\b/g, '')
    .replace(/\b(Given|Made)\b/g, 'Tensor');

/** A signature's text without parts that only serve the compiler: options of other signatures, and Options<…>. */
function signatureOf(member) {
  const start = member.name.getEnd() - member.getStart();
  const text = inTorch(member.getText().slice(start));
  return unwrapped(text.replace(/; \w+\?: undefined/g, '').replace(/\{ \w+\?: undefined(?:; )?/g, '{ '), 'Options<');
}

const commentOf = (member) => {
  const { parent } = member;
  const text = parent.getSourceFile().text;
  const ranges = ts.getLeadingCommentRanges(text, member.getFullStart()) ?? [];
  return ranges.length === 0 ? '' : `${text.slice(ranges.at(-1).pos, ranges.at(-1).end)}\n`;
};

const reserved = new Set(['default', 'delete', 'function', 'import', 'in', 'new', 'return', 'var', 'with']);

/**
 * A function for each overload in an interface, with positional arguments: forms with named arguments repeat it, and only
 * the first form has the whole comment. `declare` is for functions outside a namespace.
 */
function functionsOf(members, { declare, without = [] }) {
  const seen = new Set();
  const renamed = new Set();
  const lines = [];
  const keyword = declare ? 'declare function' : 'function';
  for (const member of members) {
    const name = member.name.text ?? member.name.getText();
    // Internals of libtorch are only in torch.ops.
    if (name.startsWith('_') || without.includes(name)) continue;
    const comment = commentOf(member);
    if (!comment.includes('\n   * @') && seen.has(name)) continue;
    seen.add(name);
    const signature = signatureOf(member);
    if (reserved.has(name)) {
      renamed.add(name);
      lines.push(`${comment}${keyword} ${name}_op${signature}`);
    } else {
      lines.push(`${comment}export ${keyword} ${name}${signature}`);
    }
  }
  for (const name of renamed) lines.push(`export { ${name}_op as ${name} };`);
  return lines.join('\n');
}

/** "NnFunctionalFunctions" -> ["nn", "functional"] */
const spaceOf = (name) =>
  name
    .replace(/Functions$/, '')
    .split(/(?=[A-Z])/)
    .map((part) => part.toLowerCase());

function torchModule() {
  const interfaces = interfacesOf('functions');
  const own = handWritten();
  const parts = [
    '/**',
    " * The module: `import torch from 'libtorch-node'`. The pages of ops show each overload with positional arguments. Any",
    ' * argument can also be passed by name in one last object (`torch.add(a, { other: b, alpha: 2 })`), and sizes also as',
    ' * separate numbers (`torch.zeros(2, 3)`). Ops whose names begin with an underscore are internals of libtorch and do not',
    ' * have a page; `torch.ops.aten` has every overload by its exact name.',
    ' *',
    ' * @module torch',
    ' */',
    importsOf('functions'),
    "import '../../lib/public/methods';", // Tensor's hand-written methods
    own.text.replace("'../../types/nn'", "'./nn'"),
    asyncText,
    functionsOf(interfaces.get('Functions'), { declare: true, without: own.names }),
  ];
  for (const [name, members] of interfaces) {
    const space = spaceOf(name);
    if (space.length === 0 || space[0] === '' || space[0] === 'nn') continue;
    const open = space.map((part) => `namespace ${part} {`).join(' export ');
    parts.push(
      `/** \`torch.${space.join('.')}\` */`,
      `export declare ${open}`,
      functionsOf(members, { declare: false }),
      '}'.repeat(space.length),
    );
  }
  return `${parts.join('\n')}\n`;
}

/** `torch.nn`, as types/nn.d.ts: the modules, and a function for each op of torch.nn.functional. */
function nnModule() {
  const members = interfacesOf('functions').get('NnFunctionalFunctions');
  return [
    importsOf('functions'),
    "export * from '../../lib/nn';",
    '/** `torch.nn.functional` */',
    'export declare namespace functional {',
    functionsOf(members, { declare: false }),
    '}\n',
  ].join('\n');
}

function methodsModule() {
  const members = interfacesOf('methods').get('TensorMethods');
  return [
    '/**',
    ' * The ops that are methods: `t.sum(1)`. The page of the class {@link torch.Tensor} has the hand-written methods (`at`,',
    ' * `set`, `dispose`, …).',
    ' *',
    ' * @module Tensor',
    ' */',
    importsOf('methods'),
    functionsOf(members, { declare: true }),
    '',
  ].join('\n');
}

const algebraModule = `/**
 * The types in signatures, with which the compiler computes dtypes and shapes.
 *
 * @module types
 */
export type * from '../../types/algebra';
`;

/** Writes the modules. @returns {string[]} their files */
export function writeApiSources() {
  mkdirSync(apiSources, { recursive: true });
  writeFileSync(path.join(apiSources, 'nn.d.ts'), nnModule()); // part of torch
  const modules = { torch: torchModule(), Tensor: methodsModule(), types: algebraModule };
  return Object.entries(modules).map(([name, text]) => {
    const file = path.join(apiSources, `${name}.d.ts`);
    writeFileSync(file, text);
    return file;
  });
}
