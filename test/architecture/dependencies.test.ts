/** Dependency rules (ARCHITECTURE.md), and rules about committed files. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(__dirname, '../..');
const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter(Boolean);
const textOf = (file: string) => readFileSync(path.join(root, file), 'utf8');
const below = (folder: string, pattern: RegExp) =>
  tracked.filter((file) => file.startsWith(folder) && pattern.test(file));

/** "native/handles/slot_table.h", "ATen/core/Tensor.h", "vector" */
const includesOf = (file: string) =>
  [...textOf(file).matchAll(/^#include ["<]([^">]+)[">]/gm)].map((match) => match[1] as string);

/** Include paths of a folder that match `forbidden`, as "file -> include". */
function violations(folder: string, forbidden: RegExp, except: RegExp = /^$/): string[] {
  return below(folder, /\.(h|cpp)$/)
    .filter((file) => !except.test(file))
    .flatMap((file) =>
      includesOf(file)
        .filter((name) => forbidden.test(name))
        .map((name) => `${file} -> ${name}`),
    );
}

const NODE = /^(node_api|js_native_api|napi|uv|node|v8)\b.*\.h$/;

it('the recorder does not depend on libtorch', () => {
  expect(violations('native/audit/', /^(ATen|torch|c10)\b/)).toEqual([]);
});

it('handles, accounting, the token table and the recorder do not depend on Node', () => {
  for (const folder of ['native/handles/', 'native/accounting/', 'native/cuda/'])
    expect(violations(folder, NODE)).toEqual([]);
  expect(violations('native/audit/', NODE)).toEqual([]);
  expect(violations('native/share/', NODE, /backing_store/)).toEqual([]);
});

it('only native/compat.h depends on the libtorch version', () => {
  const asks = /TORCH_VERSION_|TORCH_ABI_VERSION|__has_include/;
  const files = ['native/', 'codegen/'].flatMap((folder) => below(folder, /\.(h|cpp)$/));
  // codegen/declarations reads the macros as text, to find the version of libtorch.
  expect(files.filter((file) => asks.test(textOf(file)))).toEqual([
    'native/compat.h',
    'codegen/declarations/headers.cpp',
  ]);
});

it('step 2 of codegen needs neither libtorch nor Node', () => {
  for (const folder of ['codegen/bindings/', 'codegen/model/', 'codegen/common/']) {
    expect(violations(folder, /^(ATen|c10|torch)\//)).toEqual([]);
    expect(violations(folder, NODE)).toEqual([]);
  }
  expect(violations('codegen/', /^native\//)).toEqual([]);
});

const importsOf = (file: string) =>
  [...textOf(file).matchAll(/(?:from|import|require\()\s*['"]([^'"]+)['"]/g)].map((match) => match[1] as string);

/**
 * Modules of lib that cli may not import: all but the public entry, the modules that find libtorch, the encoder of profiles, the
 * library's own marks, the paths and positions of scripts, and how processes that read are started.
 */
const NOT_SHARED =
  /(^|\/)lib\/(?!index|libtorch\/|pprof\/profile|observe\/audit\/(call-sites|compiled|marks|reader|script-path))/;

it('lib never imports cli; cli imports from lib only what is named as shared', () => {
  const lib = below('lib/', /\.ts$/).flatMap((file) => importsOf(file).filter((name) => /(^|\/)cli\//.test(name)));
  const cli = below('cli/', /\.ts$/).flatMap((file) => importsOf(file).filter((name) => NOT_SHARED.test(name)));
  expect({ lib, cli }).toEqual({ lib: [], cli: [] });
});

it('generated code is not committed, and hand-written files stay short', () => {
  expect(tracked.filter((file) => /(^|\/)generated\//.test(file))).toEqual([]);
  const long = tracked
    .filter((file) => /\.(ts|mjs|cjs|h|cpp|py)$/.test(file))
    .map((file) => [file, textOf(file).split('\n').length] as const)
    .filter(([, lines]) => lines > 420);
  expect(long).toEqual([]);
});

it('the addon of the sanitizers is compiled with the definitions of the shipped one', () => {
  const [, list] = /defines = \[(.*)\]/.exec(textOf('scripts/addon-flags.mjs'))!;
  const shipped = list!.replace(/'/g, '').split(', ');
  const [, sanitized] = /target_compile_definitions\(ltn_addon PRIVATE\s+([^)]*)\)/.exec(
    textOf('native/CMakeLists.txt'),
  )!;
  expect(sanitized!.split(/\s+/)).toEqual(shipped);
});

test('names of files: hyphens in TypeScript and JavaScript, underscores in C++ and Python', () => {
  const wrong = tracked.filter((file) => {
    const name = path.basename(file);
    if (/\.([cm]?js|tsx?)$/.test(name)) return /[A-Z_]/.test(name);
    return /\.(cpp|h|py)$/.test(name) && /[A-Z-]/.test(name);
  });
  expect(wrong).toEqual([]);
});

test('test/portable.json names test files, in order and once', () => {
  const portable = JSON.parse(textOf('test/portable.json')) as string[];
  expect(portable.filter((file) => !tracked.includes(file) || !file.endsWith('.test.ts'))).toEqual([]);
  expect(portable).toEqual([...new Set(portable)].sort());
});

test('test/slow.json names test files, in order and once, with their seconds', () => {
  const seconds = JSON.parse(textOf('test/slow.json')) as Record<string, number>;
  const slow = Object.keys(seconds);
  expect(Object.values(seconds).filter((value) => !(value >= 4))).toEqual([]);
  expect(slow.filter((file) => !tracked.includes(file) || !file.endsWith('.test.ts'))).toEqual([]);
  expect(slow).toEqual([...new Set(slow)].sort());
});
