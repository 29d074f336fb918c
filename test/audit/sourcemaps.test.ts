import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import * as esbuild from 'esbuild';
import * as ts from 'typescript';
import { SourceMaps } from '../../cli/code/source-maps';
import { original } from '../../lib/observe/audit/positions';

const SOURCE = `interface Options { size: number }

enum Kind { A, B }

export class Cache<T> {
  private readonly held: T[] = [];
  constructor(readonly options: Options) {}

  add(make: (size: number) => T, kind: Kind = Kind.A): void {
    if (kind === Kind.A) {
      this.held.push(make(this.options.size));
    }
  }
}
`;
const MARK = 'make(this.options.size)';

afterAll(() => esbuild.stop());

let folder: string;
let source: string;
beforeEach(() => {
  folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'audit-maps-')));
  fs.mkdirSync(path.join(folder, 'src'));
  fs.mkdirSync(path.join(folder, 'out'));
  source = path.join(folder, 'src', 'cache.ts');
  fs.writeFileSync(source, SOURCE);
});
afterEach(() => fs.rmSync(folder, { recursive: true }));

/** Line and column, both from 1, of `text` in `code`. */
function find(code: string, text: string): { line: number; column: number } {
  const lines = code.split('\n');
  const line = lines.findIndex((one) => one.includes(text));
  return { line: line + 1, column: lines[line]!.indexOf(text) + 1 };
}

function resolveMark(file: string, mark = 'make(this.options.size)') {
  const at = find(fs.readFileSync(file, 'utf8'), mark);
  return new SourceMaps().resolve({ file, ...at, function: 'add' });
}

const compile = (options: ts.CompilerOptions) => {
  const out = path.join(folder, 'out');
  const program = ts.createProgram([source], {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.CommonJS,
    outDir: out,
    rootDir: path.join(folder, 'src'),
    noLib: true,
    types: [],
    ...options,
  });
  program.emit();
  return path.join(out, 'cache.js');
};

test('tsc with a map beside the file', () => {
  const file = compile({ sourceMap: true });
  expect(resolveMark(file)).toEqual({ file: source, ...find(SOURCE, MARK), function: 'add' });
});

test('an index map, which consists of others', () => {
  const file = compile({ sourceMap: true });
  const map = JSON.parse(fs.readFileSync(`${file}.map`, 'utf8'));
  fs.writeFileSync(`${file}.map`, JSON.stringify({ version: 3, sections: [{ offset: { line: 0, column: 0 }, map }] }));
  expect(resolveMark(file)).toMatchObject({ file: source, ...find(SOURCE, MARK) });
  const at = find(fs.readFileSync(file, 'utf8'), MARK);
  expect(original({ file, ...at, function: '' })).toMatchObject({ file: source, ...find(SOURCE, MARK) });
});

test('tsc with an inline map', () => {
  const file = compile({ inlineSourceMap: true });
  expect(resolveMark(file)).toMatchObject({ file: source, ...find(SOURCE, MARK) });
});

test('an esbuild bundle, minified', () => {
  const outfile = path.join(folder, 'out', 'bundle.js');
  const entry = path.join(folder, 'src', 'main.ts');
  fs.writeFileSync(entry, `import { Cache } from './cache';\nnew Cache({ size: 3 }).add((n) => n);\n`);
  esbuild.buildSync({
    entryPoints: [entry],
    outfile,
    bundle: true,
    minifyWhitespace: true,
    sourcemap: 'inline',
    logLevel: 'silent',
  });
  expect(resolveMark(outfile)).toMatchObject({ file: source, ...find(SOURCE, MARK) });
});

describe("a bundle with webpack's names of modules", () => {
  const bundle = (named: string): SourceMaps => {
    const map = { version: 3, sources: [named], names: [], mappings: 'AAAA' };
    fs.writeFileSync(path.join(folder, 'out', 'bundle.js'), 'make();\n//# sourceMappingURL=bundle.js.map\n');
    fs.writeFileSync(path.join(folder, 'out', 'bundle.js.map'), JSON.stringify(map));
    return new SourceMaps();
  };
  const resolve = (maps: SourceMaps) =>
    maps.resolve({ file: path.join(folder, 'out', 'bundle.js'), line: 1, column: 1, function: '' }).file;

  test.each(['webpack://app/./src/cache.ts', 'webpack:///./src/cache.ts?1a2b', 'webpack://app/src/c%61che.ts'])(
    '%s',
    (name) => {
      expect(resolve(bundle(name))).toBe(source);
    },
  );

  test('a file outside the project of the bundle is not taken for the module', () => {
    fs.writeFileSync(path.join(folder, 'out', 'package.json'), '{}');
    expect(resolve(bundle('webpack://app/./src/cache.ts'))).toBe('webpack://app/src/cache.ts');
  });

  test.each(['webpack://app/./src/none.ts', 'webpack://app/src/%00', 'webpack://app/%', 'webpack://app/./src'])(
    'no file: %s',
    (name) => {
      expect(resolve(bundle(name))).toMatch(/^webpack:/);
    },
  );

  test('in an installed package, which does not contain its sources, it is a file of the package', () => {
    const dist = path.join(folder, 'node_modules', '@scope', 'server', 'dist');
    fs.mkdirSync(dist, { recursive: true });
    fs.writeFileSync(path.join(folder, 'node_modules', '@scope', 'server', 'package.json'), '{}');
    const resolveIn = (name: string) => {
      const map = { version: 3, sources: [name], names: [], mappings: 'AAAA' };
      const url = `data:application/json,${encodeURIComponent(JSON.stringify(map))}`;
      fs.writeFileSync(path.join(dist, 'index.js'), `make();\n//# sourceMappingURL=${url}\n`);
      return new SourceMaps().resolve({ file: path.join(dist, 'index.js'), line: 1, column: 1, function: '' }).file;
    };
    expect(resolveIn('webpack://server/./src/none.ts')).toBe(path.join(path.dirname(dist), 'src', 'none.ts'));
    const outside = 'webpack://server/..%2f..%2fother.ts';
    expect(resolveIn(outside)).toBe(outside);
  });
});

test('without a map, with a broken one and without a file the position is unchanged', () => {
  const plain = compile({});
  const frame = { file: plain, line: 3, column: 4, function: '' };
  expect(new SourceMaps().resolve(frame)).toEqual(frame);
  fs.appendFileSync(plain, '\n//# sourceMappingURL=missing.js.map\n');
  expect(new SourceMaps().resolve(frame)).toEqual(frame);
  fs.writeFileSync(path.join(folder, 'out', 'missing.js.map'), 'not JSON');
  expect(new SourceMaps().resolve(frame)).toEqual(frame);
  const gone = { ...frame, file: '/no/such/file.js' };
  expect(new SourceMaps().resolve(gone)).toEqual(gone);
});

test.each([
  ['a source that it does not list', { sources: ['a.ts'], mappings: 'ACAA' }],
  ['a source before the first', { sources: ['a.ts'], mappings: 'ADAA' }],
  ['a line before the first', { sources: ['a.ts'], mappings: 'AADA' }],
  ['no name of its source', { sources: [null], mappings: 'AAAA' }],
  ['mappings that are not text', { sources: ['a.ts'], mappings: [5] }],
  ['lines that are not numbers', { sources: ['a.ts'], mappings: [[[0, 0, 'x', null]]] }],
])('a map with %s leaves the position unchanged', (_, map) => {
  const file = path.join(folder, 'out', 'wrong.js');
  fs.writeFileSync(file, 'x\n//# sourceMappingURL=wrong.js.map\n');
  fs.writeFileSync(`${file}.map`, JSON.stringify({ version: 3, names: [], ...map }));
  const frame = { file, line: 1, column: 1, function: '' };
  expect(new SourceMaps().resolve(frame)).toEqual(frame);
});
