/** The TypeScript of README and the guides whose comments announce errors of the compiler: it gives these, and no others. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as ts from 'typescript';
import { ROOT } from '../support/torch';

const documents = fs.readdirSync(path.join(ROOT, 'docs')).filter((name) => name.endsWith('.md'));
const texts = ['README.md', ...documents.map((name) => `docs/${name}`)].flatMap((name) =>
  [...fs.readFileSync(path.join(ROOT, name), 'utf8').matchAll(/^```ts\n([\s\S]*?)^```$/gm)]
    .map(([, text]) => text!)
    .filter((text) => text.includes('// error: '))
    .map((text, i) => ({ name: `${name}, program ${i + 1}`, text })),
);
/** Files that exist only for the compiler, each with one line before the text. */
const files = new Map(
  texts.map(({ text }, i) => [
    path.join(ROOT, 'build', `guide-${i}.ts`),
    `import * as torch from 'libtorch-node'; import type { Tensor } from 'libtorch-node';\n${text.replaceAll('{ … }', '{}')}`,
  ]),
);

/** All errors of the compiler, by file and line. */
function diagnose(): Map<string, Map<number, string>> {
  const config = ts.readConfigFile(path.join(ROOT, 'tsconfig.json'), ts.sys.readFile).config;
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  const format = { languageVersion: ts.ScriptTarget.ES2022, impliedNodeFormat: ts.ModuleKind.CommonJS as const };
  host.fileExists = (name) => files.has(name) || fileExists.call(host, name);
  host.getSourceFile = (name, ...rest) => {
    const text = files.get(name);
    return text === undefined ? getSourceFile.call(host, name, ...rest) : ts.createSourceFile(name, text, format);
  };
  // The parts of a guide are not whole programs: what they declare may not be used.
  const loose = { skipLibCheck: true, noUnusedLocals: false, noUnusedParameters: false };
  const program = ts.createProgram([...files.keys()], { ...options, ...loose }, host);
  return new Map(
    [...files.keys()].map((file) => {
      const said = new Map<number, string>();
      for (const found of ts.getPreEmitDiagnostics(program, program.getSourceFile(file))) {
        const { line } = ts.getLineAndCharacterOfPosition(found.file!, found.start!);
        said.set(line, `${said.get(line) ?? ''}${ts.flattenDiagnosticMessageText(found.messageText, '\n')}\n`);
      }
      return [file, said];
    }),
  );
}

test('the errors are those that the comments announce, in which … stands for any text', () => {
  expect(texts.length).toBeGreaterThanOrEqual(2);
  const said = diagnose();
  for (const [i, [file, text]] of [...files].entries()) {
    for (const [at, line] of text.split('\n').entries()) {
      const announced = / \/\/ error: (.*)$/.exec(line)?.[1];
      const got = said.get(file)!.get(at) ?? '';
      const pattern = (announced ?? '').split('…').map((part) => part.trim().replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
      const expected = announced === undefined ? /^$/ : new RegExp(pattern.join('[\\s\\S]*'));
      expect({ program: texts[i]!.name, line, got }).toEqual({
        program: texts[i]!.name,
        line,
        got: expect.stringMatching(expected),
      });
    }
  }
}, 600_000);
