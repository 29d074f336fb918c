/** Programs that are compiled in memory, as by tsx and ts-node: the file of a script's name is its source, and has no source map. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Report } from '../../cli/analysis/report';
import { auditProgram, ROOT } from './command';

const SOURCE = `import torch from 'libtorch-node';
interface Entry { tensor: unknown }
enum Kind { A, B }

class Store {
  readonly entries: Entry[] = [];
  constructor(readonly kind: Kind) {}
}

const store = new Store(Kind.A);
function subscribe(): void {
  const held: unknown = torch.zeros([512]);
  process.on('data' as 'exit', function onData(): unknown { return held; });
}
subscribe();
for (let i = 0; i < 20; i++) {
  store.entries.push({ tensor: torch.zeros([1024]) });
}
new WebAssembly.Memory({ initial: 1 });
`;

/** `source-map-support`, which ts-node and @babel/register use, in short. */
const FORMATTER = `Error.prepareStackTrace = (error, sites) => error + sites.map((site) => {
  const entry = maps.get(site.getFileName())?.findEntry(site.getLineNumber() - 1, site.getColumnNumber() - 1);
  const place = entry?.originalSource === undefined ? String(site)
    : entry.originalSource + ':' + (entry.originalLine + 1) + ':' + (entry.originalColumn + 1);
  return '\\n    at ' + place;
}).join('');`;

const hook = (sourcemap: string) => `const fs = require('node:fs');
const { SourceMap } = require('node:module');
const { transformSync } = require(${JSON.stringify(require.resolve('esbuild'))});
const maps = new Map();
require.extensions['.ts'] = (module, file) => {
  const options = { loader: 'ts', format: 'cjs', minify: true, sourcemap: '${sourcemap}', sourcefile: file, platform: 'node' };
  const { code, map } = transformSync(fs.readFileSync(file, 'utf8'), options);
  maps.set(file, new SourceMap(JSON.parse(map)));
  module._compile(code, file);
};
`;

// Inside the package, so that programs in it find 'libtorch-node'.
const folder = path.join(ROOT, 'build', 'test-audit', String(process.pid));
const source = path.join(folder, 'app.ts');
beforeAll(() => {
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(source, SOURCE);
});
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

test.each([
  ['Node has the source maps', hook('both'), ['--enable-source-maps']],
  ['a formatter of stacks has them', hook('external') + FORMATTER, []],
  ['only the code has them', hook('both'), []],
])('the line is that of the source: %s', async (name, text, flags) => {
  const required = path.join(folder, `${name.replaceAll(' ', '-')}.cjs`);
  const json = `${required}.json`;
  fs.writeFileSync(required, text);
  const { code, stderr } = await auditProgram(
    ...[
      'run',
      '--quiet',
      '--wasm',
      '--why',
      '--json',
      json,
      '--',
      process.execPath,
      ...flags,
      '--require',
      required,
      source,
    ],
  );
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const { sites, wasm } = JSON.parse(fs.readFileSync(json, 'utf8')) as Report & { wasm: { sites: object[] } };
  const lines = SOURCE.split('\n');
  const at = (text: string) => {
    const line = lines.findIndex((one) => one.includes(text));
    return { file: source, line: line + 1, column: lines[line]!.indexOf(text) + 1 };
  };
  const siteAt = (text: string) => sites.find(({ line }) => line === at(text).line);
  expect(siteAt('zeros([1024')).toMatchObject(at('zeros([1024'));
  // The heap has the position of the function in the compiled code, which no map translates.
  const [held] = siteAt('zeros([512')!.heldBy!;
  expect(held!.path.join(' → ')).toMatch(/listener of 'data' \([^:]*app\.ts\)/);
  expect(wasm.sites[0]).toMatchObject({ file: source, line: at('new WebAssembly').line });
});

test('the line is that of the source: a coverage tool rewrote the file, which has a map of its own', async () => {
  const file = path.join(folder, 'covered.js');
  fs.writeFileSync(file, `${'\n'.repeat(9)}keep();\n//# sourceMappingURL=covered.js.map\n`);
  fs.writeFileSync(`${file}.map`, JSON.stringify({ version: 3, sources: ['wrong.ts'], names: [], mappings: 'AAAA' }));
  // Line 1 of the code that runs is line 10 of a source elsewhere.
  const map = { version: 3, sources: [source], names: [], mappings: 'AASA' };
  const url = `data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString('base64')}`;
  const code = `globalThis.kept = require('libtorch-node').ones([3]);\n//# sourceMappingURL=${url}`;
  const required = path.join(folder, 'cover.cjs');
  fs.writeFileSync(
    required,
    `require.extensions['.js'] = (module, file) => module._compile(
      file.endsWith('covered.js') ? ${JSON.stringify(code)} : require('node:fs').readFileSync(file, 'utf8'), file);`,
  );
  const json = `${file}.json`;
  await auditProgram('run', '--quiet', '--json', json, '--', process.execPath, '--require', required, file);
  const { sites } = JSON.parse(fs.readFileSync(json, 'utf8')) as Report;
  expect(sites[0]).toMatchObject({ file: source, line: 10, liveTensors: 1 });
});

test('modules that a bundler evaluates have lines, through the maps in their code', async () => {
  const name = path.relative(ROOT, source);
  const map = { version: 3, sources: [`webpack://app/./${name}?1a2b`], names: [], mappings: 'AASA' };
  const url = `data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString('base64')}`;
  const mapped = `kept.push(torch.ones([3]));\n//# sourceMappingURL=${url}\n//# sourceURL=webpack-internal:///./${name}\n`;
  const plain = `\n  kept.push(torch.ones([4]), new WebAssembly.Memory({ initial: 1 }));\n//# sourceURL=webpack-internal:///./plain.js\n`;
  const program = path.join(folder, 'bundle.cjs');
  fs.writeFileSync(
    program,
    `globalThis.torch = require('libtorch-node');
    globalThis.kept = [];
    for (const code of ${JSON.stringify([mapped, plain])}) setImmediate(eval, code);`,
  );
  const json = `${program}.json`;
  await auditProgram('run', '--quiet', '--wasm', '--json', json, '--', process.execPath, program);
  const { sites, wasm } = JSON.parse(fs.readFileSync(json, 'utf8')) as Report & { wasm: { sites: object[] } };
  expect(sites).toHaveLength(2);
  expect(sites).toContainEqual(expect.objectContaining({ file: source, line: 10 }));
  expect(sites).toContainEqual(
    expect.objectContaining({ file: 'webpack-internal:///./plain.js', line: 2, column: 19 }),
  );
  expect(wasm.sites[0]).toMatchObject({ file: 'webpack-internal:///./plain.js', line: 2 });
});

test('a formatter that makes tensors itself is not called for their stacks', async () => {
  const program = path.join(folder, 'making.cjs');
  fs.writeFileSync(
    program,
    `const torch = require('libtorch-node');
    let calls = 0;
    Error.prepareStackTrace = (error) => {
      calls++;
      torch.ones([1]).dispose();
      return String(error);
    };
    torch.ones([2]).dispose();
    Error.prepareStackTrace = undefined;
    console.log(calls < 10 ? 'few' : calls);`,
  );
  const { stdout } = await auditProgram('run', '--quiet', '--json', `${program}.json`, '--', process.execPath, program);
  expect(stdout).toMatch(/^few\n/);
});
