/** A library that exports layers, functions and loaders can write its declarations. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import * as ts from 'typescript';
import { ROOT } from '../support/torch';

test('without annotations, from an installed package', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ltn-declarations-'));
  try {
    fs.mkdirSync(path.join(folder, 'node_modules', '@types'), { recursive: true });
    fs.symlinkSync(ROOT, path.join(folder, 'node_modules', 'libtorch-node'));
    fs.symlinkSync(path.join(ROOT, 'node_modules/@types/node'), path.join(folder, 'node_modules/@types/node'));
    fs.writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }');
    const file = path.join(folder, 'library.ts');
    fs.copyFileSync(path.join(__dirname, 'programs', 'library.ts'), file);
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
    expect(all.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([]);
    expect(written).toMatch(/seq: torch\.nn\.ShapedSequential</);
    expect(written).toMatch(/batches: torch\.utils\.data\.DataLoader<number\[\], number>/);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}, 600_000);
