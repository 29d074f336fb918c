/** Ordinary programs compile under all of the compiler's stricter options, and without them. */
import * as path from 'node:path';
import * as ts from 'typescript';
import { ROOT } from '../support/torch';

const file = path.join(__dirname, 'programs', 'ordinary.ts');

test.each<[string, ts.CompilerOptions]>([
  ['strict', {}],
  [
    'noUncheckedIndexedAccess and exactOptionalPropertyTypes',
    { noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true },
  ],
  ['strict: false, as Next.js writes it', { strict: false }],
])(
  'with %s',
  (_name, stricter) => {
    const config = ts.readConfigFile(path.join(ROOT, 'tsconfig.json'), ts.sys.readFile).config;
    const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
    const program = ts.createProgram([file], { ...options, ...stricter, skipLibCheck: true });
    const said = ts.getPreEmitDiagnostics(program, program.getSourceFile(file)).map(({ start, messageText }) => {
      const { line } = program.getSourceFile(file)!.getLineAndCharacterOfPosition(start!);
      return `${line + 1}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
    });
    expect(said).toEqual([]);
  },
  600_000,
);
