/** Every declaration of Declarations.yaml exists in the raw form, with its schema and all of its arguments. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { declared as expectedDeclarations, release } from '../support/release';
import { maker, rows, signature, variants } from '../support/signatures';
import { counts, ROOT, settled, thrown, torch, untyped } from '../support/torch';

interface Declaration {
  name: string;
  overload: string;
  schema: string;
  arguments: string[];
}

/** Reads the few fields needed here; codegen always writes the file in the same form. */
function declarations(): Declaration[] {
  const list: Declaration[] = [];
  let inArguments = false;
  for (const line of fs.readFileSync(path.join(ROOT, 'build/Declarations.yaml'), 'utf8').split('\n')) {
    const field = /^[- ] (\w+):(?: (.*))?$/.exec(line);
    if (line.startsWith('- name: ')) list.push({ name: '', overload: '', schema: '', arguments: [] });
    const last = list[list.length - 1]!;
    const text = (field?.[2] ?? '').replace(/^'(.*)'$/, (_, quoted: string) => quoted.replaceAll("''", "'"));
    if (field !== null) inArguments = field[1] === 'schema_order_arguments';
    if (field?.[1] === 'operator_name') last.name = text;
    if (field?.[1] === 'overload_name') last.overload = text || 'default';
    if (field?.[1] === 'schema_string') last.schema = text.replace(/^"(.*)"$/, (quoted) => JSON.parse(quoted));
    const argument = /^ {4}name: (.*)$/.exec(line);
    if (inArguments && argument !== null) last.arguments.push(argument[1]!.replace(/^'(.*)'$/, '$1'));
  }
  return list;
}

const declared = declarations();
const ledger = fs
  .readFileSync(path.join(ROOT, `codegen/ledger/libtorch-${release}.tsv`), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.split('\t'));

test('all ops of libtorch are declared and in the ledger, none skipped', () => {
  expect(ledger).toBeDefined();
  expect(declared).toHaveLength(expectedDeclarations(ledger.length));
  expect(ledger.filter(([, status]) => status === 'skipped')).toEqual([]);
  expect(rows).toHaveLength(declared.length);
});

test('each is torch.ops.aten.<name>.<overload>, enumerable, with the schema of Declarations.yaml and the ledger', () => {
  const byName = new Map<string, Set<string>>();
  const schemas = new Map(ledger.map(([schema]) => [schema!.replace(/\(.*/s, ''), schema]));
  const wrong: string[] = [];
  for (const { name, overload, schema } of declared) {
    byName.set(name, (byName.get(name) ?? new Set()).add(overload));
    const full = schema.startsWith('aten::') ? schema : `aten::${schema}`;
    const op = untyped.ops.aten[name]?.[overload];
    if (typeof op !== 'function' || op.schema !== full || schemas.get(full.replace(/\(.*/s, '')) !== full) {
      wrong.push(`${name}.${overload}: ${op?.schema} is not ${full}`);
    }
  }
  expect(wrong).toEqual([]);
  expect(Object.keys(torch.ops.aten).sort()).toEqual([...byName.keys()].sort());
  for (const [name, overloads] of byName)
    expect(Object.keys(untyped.ops.aten[name]).sort()).toEqual([...overloads].sort());
});

test('each op reads all its arguments: a wrong value is refused with its name, and nothing is allocated', () => {
  const wrong: string[] = [];
  const never = () => 0;
  let tried = 0;
  const before = settled();
  const { allocatedBytes } = torch.memory();
  const parameters = new Map(declared.map(({ name, overload, arguments: names }) => [`${name}.${overload}`, names]));
  for (const { key, name, overload, number } of rows) {
    const { params } = signature(number);
    if (parameters.get(key)!.join() !== params.map((param) => param.name).join())
      wrong.push(`${key}: other parameters`);
    const good = maker.values(signature(number), variants[9]!);
    for (let i = 0; i < good.length; i++) {
      const values = good.map((value, j) => (i === j ? never : value));
      const error = thrown(() => untyped.ops.aten[name][overload](...maker.rawCall(signature(number), values)));
      const refused = ['ERR_TORCH_OVERLOAD', 'ERR_TORCH_ARGUMENT'].includes(error.code) && error.name === 'TypeError';
      if (!refused || error.argument !== params[i]!.name) wrong.push(`${key}, ${params[i]!.name}: ${error.stack}`);
      tried++;
    }
    maker.release(good);
  }
  expect(wrong).toEqual([]);
  expect(tried).toBeGreaterThan(rows.length * 3);
  expect(counts()).toEqual(before);
  expect(torch.memory().allocatedBytes).toBe(allocatedBytes);
});

test('every op refuses an extra argument and an unknown name', () => {
  const wrong: string[] = [];
  for (const { key, name, overload, number } of rows) {
    const values = maker.values(signature(number), variants[0]!);
    const call = maker.rawCall(signature(number), values);
    const last = call[call.length - 1];
    const hasOptions = signature(number).params.some((param) => param.keywordOnly || param.out);
    const options = hasOptions ? { ...(last as object), no_such_option: 1 } : { no_such_option: 1 };
    const positional = hasOptions ? call.slice(0, -1) : call;
    for (const passed of [
      [...positional, options],
      [...positional, 1, ...(hasOptions ? [last] : [])],
    ]) {
      const error = thrown(() => untyped.ops.aten[name][overload](...passed));
      if (error.code !== 'ERR_TORCH_OVERLOAD') wrong.push(`${key}: ${error.stack}`);
    }
    maker.release(values);
  }
  expect(wrong).toEqual([]);
});
