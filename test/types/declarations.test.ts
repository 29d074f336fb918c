/** What a compiler says of an installed package: a library can write its declarations, and every class can be extended. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import * as ts from 'typescript';
import { ROOT, torch } from '../support/torch';

/** The errors of a program, and what the compiler writes for it. */
function compiled(source: string) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ltn-declarations-'));
  try {
    fs.mkdirSync(path.join(folder, 'node_modules', '@types'), { recursive: true });
    fs.symlinkSync(ROOT, path.join(folder, 'node_modules', 'libtorch-node'));
    fs.symlinkSync(path.join(ROOT, 'node_modules/@types/node'), path.join(folder, 'node_modules/@types/node'));
    fs.writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }');
    const file = path.join(folder, 'library.ts');
    fs.writeFileSync(file, source);
    const program = ts.createProgram([file], {
      ...{ strict: true, declaration: true, emitDeclarationOnly: true, skipLibCheck: true, types: ['node'] },
      ...{
        module: ts.ModuleKind.NodeNext,
        target: ts.ScriptTarget.ES2022,
        typeRoots: [path.join(folder, 'node_modules/@types')],
      },
    });
    let written = '';
    const { diagnostics } = program.emit(program.getSourceFile(file), (_, text) => {
      written += text;
    });
    const all = [...ts.getPreEmitDiagnostics(program), ...diagnostics];
    return { errors: all.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')), written };
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

test('without annotations, from an installed package', () => {
  const { errors, written } = compiled(fs.readFileSync(path.join(__dirname, 'programs', 'library.ts'), 'utf8'));
  expect(errors).toEqual([]);
  expect(written).toMatch(/seq: torch\.nn\.ShapedSequential</);
  expect(written).toMatch(/batches: torch\.utils\.data\.DataLoader<number\[\], number, number\[\]>/);
}, 600_000);

test('every class of torch.nn and torch.optim can be extended, and exported as a value', () => {
  const lines = (['nn', 'optim'] as const).flatMap((part) =>
    Object.entries(torch[part])
      .filter(([name, value]) => typeof value === 'function' && /^[A-Z]/.test(name))
      .flatMap(([name]) => [
        `export class ${part}${name} extends torch.${part}.${name} {}`,
        `export const its${part}${name} = torch.${part}.${name};`,
      ]),
  );
  expect(lines.length).toBeGreaterThan(150);
  expect(compiled(["import torch from 'libtorch-node';", ...lines].join('\n')).errors).toEqual([]);
}, 600_000);
