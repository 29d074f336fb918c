/**
 * Makes the declarations of ops shorter, because each node of them costs every program that imports the package the same
 * time: signatures that several names have in common, such as `sin` and `cos`, are written once.
 */
import ts from 'typescript';

const parse = (text) => ts.createSourceFile('x.d.ts', text, ts.ScriptTarget.Latest, true);

/** The number of nodes that the compiler makes. */
function nodesIn(node) {
  let count = 1;
  ts.forEachChild(node, (child) => {
    count += nodesIn(child);
  });
  return count;
}

/** The comment before a member: its lines without the marks, the first of them the title. */
function commentOf(member) {
  const { text } = member.getSourceFile();
  const range = ts.getLeadingCommentRanges(text, member.getFullStart())?.at(-1);
  if (range === undefined) return [];
  const lines = text.slice(range.pos + '/**'.length, range.end - '*/'.length).split('\n');
  return lines.map((line) => line.replace(/^\s*\* ?/, '').trim()).filter((line) => line !== '');
}

const comment = (lines) => {
  if (lines.length === 0) return '';
  return lines.length === 1 ? `/** ${lines[0]} */\n` : `/**\n${lines.map((line) => ` * ${line}\n`).join('')} */\n`;
};

/** The comment without the names in its title: `(Tensor self) -> Tensor` of torch.sin: `aten::sin(Tensor self) -> Tensor`. */
const withoutName = ([title, ...lines]) =>
  title === undefined ? [] : [title.replace(/^.*?`(?:\w+::)?[\w.]*\(/, '`('), ...lines];

/** The signatures of one name. Names with the same ones also have the same comments, so that editors show the right one. */
function signaturesOf(name, members) {
  const forms = members.map((member) => {
    const lines = commentOf(member);
    const text = member.getText().slice(member.name.getEnd() - member.getStart());
    return { title: lines[0], text: `${comment(withoutName(lines))}${text}\n` };
  });
  const nodes = members.reduce((sum, member) => sum + nodesIn(member), 0);
  return { name, members, forms, nodes, key: forms.map(({ text }) => text).join('') };
}

function namesOf(declaration) {
  const names = new Map();
  for (const member of declaration.members) {
    const name = member.name.getText();
    if (!names.has(name)) names.set(name, []);
    names.get(name).push(member);
  }
  return [...names].map(([name, members]) => signaturesOf(name, members));
}

/** The nodes of a property that refers to shared signatures, and those of a reference to an alias. */
const propertyNodes = 7;
const aliasNodes = 2;

/** The groups of several entries with one text that are worth a name: text -> its name and entries. */
function sharedIn(entries, prefix, each) {
  const groups = new Map();
  for (const entry of entries) {
    if (!groups.has(entry.key)) groups.set(entry.key, []);
    groups.get(entry.key).push(entry);
  }
  const shared = new Map();
  for (const [key, group] of groups) {
    if ((group.length - 1) * group[0].nodes <= group.length * each) continue;
    shared.set(key, { name: `${prefix}${shared.size}`, entries: group });
  }
  return shared;
}

/** The text with parts of it replaced. @param {{ from: number, to: number, by: string }[]} edits in order */
function edited(text, edits) {
  const parts = [];
  let end = 0;
  for (const { from, to, by } of edits) {
    parts.push(text.slice(end, from), by);
    end = to;
  }
  parts.push(text.slice(end));
  return parts.join('');
}

const uses = (name, declaration) => {
  const [first] = declaration.typeParameters ?? [];
  return first ? `${name}<${first.name.text}>` : name;
};

/** Interfaces of methods: a name whose signatures others have too becomes a property of a shared type. */
function shareSignatures(text, file) {
  const interfaces = file.statements
    .filter(ts.isInterfaceDeclaration)
    .filter(({ members }) => members.some(ts.isMethodSignature))
    .map((declaration) => ({ declaration, names: namesOf(declaration) }));
  const shared = sharedIn(
    interfaces.flatMap(({ names }) => names),
    'Signatures',
    propertyNodes,
  );
  const edits = [];
  for (const { declaration, names } of interfaces) {
    const body = names.map(({ key, members, name, forms }) => {
      const use = shared.get(key);
      if (use === undefined) return text.slice(members[0].getFullStart(), members.at(-1).getEnd());
      use.parameters ??= declaration.typeParameters?.map((each) => each.getText()).join(', ');
      // The first title has the name, and the schema that those of the overload's other forms have.
      const titles = forms.flatMap(({ title }) => title ?? []);
      const different = titles.filter((title, i) => !titles.slice(0, i).some((earlier) => earlier.endsWith(title)));
      return `\n${comment(different)}${name}: ${uses(use.name, declaration)};`;
    });
    edits.push({ from: declaration.members.pos, to: declaration.members.end, by: body.join('') });
  }
  const declared = [...shared].map(
    ([key, { name, parameters }]) => `interface ${name}${parameters ? `<${parameters}>` : ''} {\n${key}}\n`,
  );
  return edited(text, edits) + declared.join('');
}

/** `torch.ops`: a function type that several overloads have gets a name. */
function shareFunctionTypes(text, file) {
  const found = [];
  const visit = (node) => {
    if (ts.isFunctionTypeNode(node)) found.push({ node, key: node.getText(), nodes: nodesIn(node) });
    else ts.forEachChild(node, visit);
  };
  for (const statement of file.statements.filter(ts.isInterfaceDeclaration)) {
    if (statement.members.every(ts.isPropertySignature)) visit(statement);
  }
  const shared = sharedIn(found, 'Call', aliasNodes);
  const edits = found
    .filter(({ key }) => shared.has(key))
    .map(({ node, key }) => ({ from: node.getStart(), to: node.getEnd(), by: shared.get(key).name }));
  return edited(text, edits) + [...shared].map(([key, { name }]) => `type ${name} = ${key};\n`).join('');
}

/** The constants of a module without comments: one statement. */
const joinConstants = (text) =>
  text.replace(/(?:^export declare const \w+: \w+\['\w+'\];\n){2,}/gm, (lines) =>
    lines.replace(/;\nexport declare const /g, ',\n'),
  );

/**
 * @param {string} text declarations of ops
 * @returns {string} the same declarations, in fewer nodes
 */
export function compactDeclarations(text) {
  return joinConstants([shareSignatures, shareFunctionTypes].reduce((each, share) => share(each, parse(each)), text));
}
