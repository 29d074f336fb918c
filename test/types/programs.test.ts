/** Types are correct: the compiler's types of a program's tensors match the tensors. */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as ts from 'typescript';
import { ROOT, torch } from '../support/torch';
import * as dtypes from './programs/dtypes';
import * as layers from './programs/layers';
import * as shapes from './programs/shapes';

const fileOf = (name: string) => path.join(__dirname, 'programs', `${name}.ts`);

/** The program of a thousand lines that the bench also checks. */
const families = path.join(ROOT, 'build/test-types/families.ts');
const script = `import { familiesProgram } from ${JSON.stringify(path.join(ROOT, 'bench/support/families.mjs'))};
  process.stdout.write(familiesProgram(1000));`;
const familiesText = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
fs.mkdirSync(path.dirname(families), { recursive: true });
fs.writeFileSync(families, familiesText);

const files: Record<string, string> = {
  dtypes: fileOf('dtypes'),
  layers: fileOf('layers'),
  shapes: fileOf('shapes'),
  families,
};
const programs: Record<string, object> = { dtypes, layers, shapes, families: require(families) };
afterAll(() => torch.disposeAll(programs));

interface Said {
  dtype: string;
  shape: string;
}

let checker: ts.TypeChecker;
let program: ts.Program;

beforeAll(() => {
  const config = ts.readConfigFile(path.join(ROOT, 'tsconfig.json'), ts.sys.readFile).config;
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  program = ts.createProgram(Object.values(files), { ...options, skipLibCheck: true });
  checker = program.getTypeChecker();
}, 600_000);

/** The compiler's type of each exported tensor, by name. */
function said(name: string): Map<string, Said> {
  const source = program.getSourceFile(files[name]!)!;
  const told = new Map<string, Said>();
  for (const symbol of checker.getExportsOfModule(checker.getSymbolAtLocation(source)!)) {
    const whole = checker.getTypeOfSymbol(symbol);
    // `values` of a tuple is also a member of arrays.
    const type = (whole.isIntersection() ? whole.types : [whole]).find((part) => part.getSymbol()?.name === 'Tensor');
    if (type === undefined) continue;
    const [dtype, shape] = checker.getTypeArguments(type as ts.TypeReference);
    told.set(symbol.name, { dtype: checker.typeToString(dtype!), shape: checker.typeToString(shape!) });
  }
  return told;
}

/** '[2, number]' for [2, 3]: whether a shape is of this type. */
function fits(shape: readonly number[], type: string): boolean {
  if (type === 'Shape' || type === 'number[]') return true;
  const sizes = JSON.parse(type.replace(/number/g, 'null')) as (number | null)[];
  return sizes.length === shape.length && sizes.every((size, i) => size === null || size === shape[i]);
}

interface Made {
  dtype: string;
  shape: number[];
}

test.each(Object.keys(programs))('the tensors of %s match their types', (name) => {
  const file = program.getSourceFile(files[name]!)!;
  expect(
    ts.getPreEmitDiagnostics(program, file).map((d) => ts.flattenDiagnosticMessageText(d.messageText, '\n')),
  ).toEqual([]);
  const told = said(name);
  const made = Object.entries(programs[name]!).filter(
    ([, value]) => (value as { _mark?: unknown })._mark !== undefined,
  );
  expect(made.map(([key]) => key).sort()).toEqual([...told.keys()].sort());
  const wrong: string[] = [];
  for (const [key, value] of made) {
    const { dtype, shape } = value as Made;
    const type = told.get(key)!;
    const unknown = type.dtype === 'DType' || type.shape.includes('number') || type.shape === 'Shape';
    const right = (type.dtype === 'DType' || type.dtype === `"${dtype}"`) && fits(shape, type.shape);
    if (!right || (unknown && !key.endsWith('Dynamic'))) {
      wrong.push(`${key}: Tensor<${type.dtype}, ${type.shape}>, but it is ${dtype} [${shape.join(', ')}]`);
    }
  }
  expect(wrong).toEqual([]);
  expect(made.length).toBeGreaterThan(70);
});

test('the program of all families has a thousand lines, and all of them are different', () => {
  const lines = familiesText.split('\n').filter((line) => /^(export )?const/.test(line));
  expect(familiesText.split('\n').length).toBeGreaterThanOrEqual(1000);
  expect(new Set(lines.map((line) => line.slice(line.indexOf('=')))).size).toBeGreaterThan(0.9 * lines.length);
});
