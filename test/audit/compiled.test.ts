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

const HOOK = `const fs = require('node:fs');
const { SourceMap } = require('node:module');
const { transformSync } = require(${JSON.stringify(require.resolve('esbuild'))});
const maps = new Map();
require.extensions['.ts'] = (module, file) => {
  const options = { loader: 'ts', format: 'cjs', minify: true, sourcemap: 'both', sourcefile: file, platform: 'node' };
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
  ['Node has the source maps', '', ['--enable-source-maps']],
  ['a formatter of stacks has them', FORMATTER, []],
])('the line is that of the source: %s', async (name, formatter, flags) => {
  const hook = path.join(folder, `${name.replaceAll(' ', '-')}.cjs`);
  const json = `${hook}.json`;
  fs.writeFileSync(hook, HOOK + formatter);
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
      hook,
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
