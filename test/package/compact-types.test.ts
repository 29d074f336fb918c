/** The published declarations of ops: fewer nodes than codegen writes, and every signature that codegen writes. */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as ts from 'typescript';
import { limitMs } from '../support/sanitized';
import { ROOT } from '../support/torch';

function compacted(texts: string[]): string[] {
  const script = `import { compactDeclarations } from ${JSON.stringify(path.join(ROOT, 'scripts/steps/compact-types.mjs'))};
    import { readFileSync } from 'node:fs';
    process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).map(compactDeclarations)));`;
  return JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      input: JSON.stringify(texts),
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
    }),
  );
}

/** Each member of each interface with its signatures, those that it shares with others included. */
function signatures(text: string): Map<string, string[]> {
  const file = ts.createSourceFile('x.d.ts', text, ts.ScriptTarget.Latest, true);
  const shared = new Map<string, string[]>();
  const interfaces = file.statements.filter(ts.isInterfaceDeclaration);
  for (const { name, members } of interfaces) {
    shared.set(
      name.text,
      members.filter(ts.isCallSignatureDeclaration).map((each) => each.getText()),
    );
  }
  const found = new Map<string, string[]>();
  for (const each of interfaces) {
    for (const member of each.members) {
      if (member.name === undefined) continue;
      const key = `${each.name.text}.${member.name.getText()}`;
      const own = member.getText().slice(member.name.getEnd() - member.getStart());
      const [, use] = /^: (\w+)(?:<K>)?;$/.exec(own) ?? [];
      found.set(key, [...(found.get(key) ?? []), ...(use === undefined ? [own] : shared.get(use)!)]);
    }
  }
  return found;
}

const source = `/** The ops. */
export interface Functions<K extends Mode = 'now'> {
  /**
   * torch.cos: \`aten::cos(Tensor self) -> Tensor\`
   * @param self - a tensor
   */
  cos<T extends Tensor>(self: In<K, T>, options?: { out?: Tensor | undefined }): Out<K, DTypeOf<T>, ShapeOf<T>>;
  /** \`aten::cos(Tensor self) -> Tensor\` */
  cos<T extends Tensor>(options: { self: In<K, T>; out?: Tensor | undefined }): Out<K, DTypeOf<T>, ShapeOf<T>>;
  /** only here */
  only(): void;
  /**
   * Since libtorch 2.6. torch.sin: \`aten::sin(Tensor self) -> Tensor\`
   * @param self - a tensor
   */
  sin<T extends Tensor>(self: In<K, T>, options?: { out?: Tensor | undefined }): Out<K, DTypeOf<T>, ShapeOf<T>>;
  /** \`aten::sin(Tensor self) -> Tensor\` */
  sin<T extends Tensor>(options: { self: In<K, T>; out?: Tensor | undefined }): Out<K, DTypeOf<T>, ShapeOf<T>>;
}
`;

const type = '(self: Tensor, other: Tensor) => Tensor';
const ops = `export interface RawOps {\n  a: RawOp<${type}>;\n  b: RawOp<${type}>;\n  c: RawOp<() => Tensor>;\n}\n`;
const constants = "export declare const add: Functions['add'];\nexport declare const sub: Functions['sub'];\n";
const methods = fs.readFileSync(path.join(ROOT, 'types/generated/methods.d.ts'), 'utf8');

let short: string[];
beforeAll(() => {
  short = compacted([source, ops, constants, methods]);
}, limitMs(60_000));

it('writes signatures that several names have in common once, each name with its own title, if their comments agree', () => {
  expect(short[0]).toBe(`/** The ops. */
export interface Functions<K extends Mode = 'now'> {
/** torch.cos: \`aten::cos(Tensor self) -> Tensor\` */
cos: Signatures0<K>;
  /** only here */
  only(): void;
/** Since libtorch 2.6. torch.sin: \`aten::sin(Tensor self) -> Tensor\` */
sin: Signatures0<K>;
}
interface Signatures0<K extends Mode = 'now'> {
/**
 * \`(Tensor self) -> Tensor\`
 * @param self - a tensor
 */
<T extends Tensor>(self: In<K, T>, options?: { out?: Tensor | undefined }): Out<K, DTypeOf<T>, ShapeOf<T>>;
/** \`(Tensor self) -> Tensor\` */
<T extends Tensor>(options: { self: In<K, T>; out?: Tensor | undefined }): Out<K, DTypeOf<T>, ShapeOf<T>>;
}
`);
});

it('names a function type that several ops of torch.ops have', () => {
  expect(short[1]).toBe(
    `export interface RawOps {\n  a: RawOp<Call0>;\n  b: RawOp<Call0>;\n  c: RawOp<() => Tensor>;\n}\ntype Call0 = ${type};\n`,
  );
});

it('declares the constants of the module in one statement', () => {
  expect(short[2]).toBe("export declare const add: Functions['add'],\nsub: Functions['sub'];\n");
});

it('keeps every signature of every method, in its order', () => {
  expect(signatures(short[3]!)).toEqual(signatures(methods));
  expect(short[3]!.length).toBeLessThan(0.85 * methods.length);
});
