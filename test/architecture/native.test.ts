/**
 * The parts of native/ and codegen/, folders and single files: each file is in one, and includes headers only of its own
 * and of those listed here, which are all further down. `native/generated` is not committed; it includes ops, schema and classes.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(__dirname, '../..');
const BOTTOM = ['accounting', 'audit', 'compat.h', 'errors', 'handles', 'schema'];
/** From the top to the bottom. */
const ARROWS: Record<string, Record<string, readonly string[]>> = {
  native: {
    'addon.cpp': ['accounting', 'audit', 'autograd', 'convert', 'exports', 'ops', 'schema'],
    c10d: ['autograd', 'distributed'],
    exports: [
      ...BOTTOM,
      'async',
      'autograd',
      'checksum',
      'classes',
      'convert',
      'cuda',
      'distributed',
      'env',
      'json',
      'models',
      'ops',
      'optim',
      'share',
      'v8',
    ],
    classes: [],
    ops: ['async', 'compat.h', 'convert', 'env', 'handles', 'schema'],
    optim: [],
    models: [...BOTTOM.filter((part) => part !== 'audit'), 'async', 'convert'],
    autograd: ['async', 'compat.h', 'convert', 'errors', 'handles'],
    convert: ['accounting', 'async', 'compat.h', 'env', 'errors', 'handles', 'schema'],
    env: [...BOTTOM.filter((part) => part !== 'audit'), 'async', 'cuda', 'share'],
    distributed: ['async', 'errors'],
    async: ['compat.h', 'errors', 'handles', 'schema'],
    share: ['audit', 'v8'],
    handles: ['accounting', 'audit'],
    cuda: ['accounting'],
    accounting: ['audit', 'compat.h'],
    audit: ['checksum'],
    checksum: [],
    json: [],
    errors: ['schema', 'v8'],
    schema: [],
    v8: [],
    'compat.h': [],
  },
  codegen: {
    bindings: ['common', 'model'],
    declarations: ['common', 'model'],
    model: [],
    common: [],
  },
  'codegen/bindings': {
    'main.cpp': ['emit', 'input', 'plan', 'spec'],
    dts: ['emit', 'plan', 'spec', 'text'],
    emit: ['plan', 'spec', 'text'],
    plan: ['spec', 'text'],
    spec: ['text'],
    input: [],
    text: [],
  },
};
/** What native code and codegen share, and the parts that may include it. */
const SHARED: Record<string, readonly string[]> = {
  'codegen/model/flags.h': ['native/handles'],
  'codegen/model/fit.h': ['native/convert'],
};
const NOT_CODE: Record<string, readonly string[]> = {
  native: [
    'CMakeLists.txt',
    'c10d_sources.txt',
    'core_sources.txt',
    'cuda_none_sources.txt',
    'cuda_sources.txt',
    'node_sources.txt',
  ],
  codegen: ['CMakeLists.txt', 'ledger', 'spec'],
  'codegen/bindings': [],
};

const filesIn = (folder: string) =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', folder], {
    cwd: root,
    encoding: 'utf8',
  })
    .split('\n')
    .filter(Boolean);
const textOf = (file: string) => readFileSync(path.join(root, file), 'utf8');
/** The part of a folder that a file is in: the first name below it. */
const partIn = (folder: string) => (file: string) => file.slice(folder.length + 1).split('/')[0]!;
const partOf = partIn('native');
const sourcesIn = (folder: string) => filesIn(folder).filter((file) => /\.(h|cpp)$/.test(file));
const includesOf = (file: string) => [...textOf(file).matchAll(/^#include "([^"]+)"/gm)].map(([, name]) => name!);

describe.each(Object.entries(ARROWS))('%s', (folder, arrows) => {
  const partOf = partIn(folder);
  const [top] = folder.split('/');

  test('each file is in a part', () => {
    const parts = new Set(filesIn(`${folder}/`).map(partOf));
    expect([...parts].sort()).toEqual([...Object.keys(arrows), ...NOT_CODE[folder]!].sort());
  });

  test('a part includes only from the parts listed for it, and each listed arrow exists', () => {
    const found = new Map(Object.keys(arrows).map((part) => [part, new Set<string>()]));
    for (const file of sourcesIn(`${folder}/`)) {
      for (const name of includesOf(file)) {
        expect([file, name.split('/')[0]]).toEqual([
          file,
          SHARED[name]?.includes(`${folder}/${partOf(file)}`) ? 'codegen' : top,
        ]);
        if (name.startsWith(`${folder}/`) && partOf(name) !== partOf(file)) found.get(partOf(file))!.add(partOf(name));
      }
    }
    const sorted = (of: Iterable<[string, Iterable<string>]>) =>
      Object.fromEntries([...of].map(([part, to]) => [part, [...to].sort()]));
    expect(sorted(found)).toEqual(sorted(Object.entries(arrows)));
  });

  test('no arrow leads up, so there is no circle', () => {
    const order = Object.keys(arrows);
    const up = Object.entries(arrows).flatMap(([from, to]) =>
      to.filter((part) => order.indexOf(part) <= order.indexOf(from)).map((part) => `${from} -> ${part}`),
    );
    expect(up).toEqual([]);
  });
});

describe('node-addon-api is used everywhere except on the path of an op', () => {
  /** Hooks and thread-safe functions, whose order at the end of an environment is written down there. */
  const RAW = /audit_follow\.cpp$/;
  const allowed = new Set(['napi_add_env_cleanup_hook', 'napi_remove_env_cleanup_hook']);

  test('only exports and addon.cpp include it', () => {
    const users = sourcesIn('native/').filter((file) => /^#include <napi\.h>/m.test(textOf(file)));
    expect([...new Set(users.map(partOf))].sort()).toEqual(['addon.cpp', 'exports']);
  });

  test('exports call no function of Node-API', () => {
    const calls = sourcesIn('native/exports/')
      .filter((file) => !RAW.test(file))
      .flatMap((file) =>
        [...textOf(file).matchAll(/(?<!napi_value )(?<![\w:])(napi_(?:[a-z]+_)+[a-z]+)\(/g)].map(
          ([, name]) => [file, name!] as const,
        ),
      )
      .filter(([, name]) => !allowed.has(name));
    expect(calls).toEqual([]);
  });
});
