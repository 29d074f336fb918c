/**
 * The rooms of native/ and codegen/: each file is in one, and includes headers only of its own and of those listed here,
 * which are all further down. `native/generated` is not committed; it includes ops, schema and classes.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(__dirname, '../..');
const BOTTOM = ['accounting', 'audit', 'compat.h', 'errors', 'handles', 'schema'];
/** From the top to the bottom. */
const ARROWS: Record<string, Record<string, readonly string[]>> = {
  native: {
    'addon.cpp': ['accounting', 'audit', 'autograd', 'convert', 'exports', 'schema'],
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
      'models',
      'ops',
      'optim',
      'share',
    ],
    classes: [],
    ops: ['async', 'compat.h', 'convert', 'schema'],
    optim: [],
    models: [...BOTTOM.filter((room) => room !== 'audit'), 'async', 'convert'],
    autograd: ['async', 'compat.h', 'convert', 'errors'],
    convert: ['accounting', 'async', 'compat.h', 'env', 'errors', 'schema'],
    env: [...BOTTOM.filter((room) => room !== 'audit'), 'async', 'cuda', 'share'],
    distributed: ['async', 'errors'],
    async: ['compat.h', 'errors', 'handles', 'schema'],
    share: ['audit'],
    handles: ['accounting', 'audit'],
    cuda: ['accounting'],
    accounting: ['audit', 'compat.h'],
    audit: ['checksum'],
    checksum: [],
    errors: ['schema'],
    schema: [],
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
/** What native code and codegen share, and the rooms that may include it. */
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
/** The name of a file's room in a folder: its first part below it. */
const roomIn = (folder: string) => (file: string) => file.slice(folder.length + 1).split('/')[0]!;
const roomOf = roomIn('native');
const sourcesIn = (folder: string) => filesIn(folder).filter((file) => /\.(h|cpp)$/.test(file));
const includesOf = (file: string) => [...textOf(file).matchAll(/^#include "([^"]+)"/gm)].map(([, name]) => name!);

describe.each(Object.entries(ARROWS))('%s', (folder, arrows) => {
  const roomOf = roomIn(folder);
  const [top] = folder.split('/');

  test('each file is in a room', () => {
    const rooms = new Set(filesIn(`${folder}/`).map(roomOf));
    expect([...rooms].sort()).toEqual([...Object.keys(arrows), ...NOT_CODE[folder]!].sort());
  });

  test('a room includes only from the rooms listed for it, and each listed arrow exists', () => {
    const found = new Map(Object.keys(arrows).map((room) => [room, new Set<string>()]));
    for (const file of sourcesIn(`${folder}/`)) {
      for (const name of includesOf(file)) {
        expect([file, name.split('/')[0]]).toEqual([
          file,
          SHARED[name]?.includes(`${folder}/${roomOf(file)}`) ? 'codegen' : top,
        ]);
        if (name.startsWith(`${folder}/`) && roomOf(name) !== roomOf(file)) found.get(roomOf(file))!.add(roomOf(name));
      }
    }
    const sorted = (of: Iterable<[string, Iterable<string>]>) =>
      Object.fromEntries([...of].map(([room, to]) => [room, [...to].sort()]));
    expect(sorted(found)).toEqual(sorted(Object.entries(arrows)));
  });

  test('no arrow leads up, so there is no circle', () => {
    const order = Object.keys(arrows);
    const up = Object.entries(arrows).flatMap(([from, to]) =>
      to.filter((room) => order.indexOf(room) <= order.indexOf(from)).map((room) => `${from} -> ${room}`),
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
    expect([...new Set(users.map(roomOf))].sort()).toEqual(['addon.cpp', 'exports']);
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
