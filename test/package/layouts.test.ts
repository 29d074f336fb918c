/** libtorch as PyTorch's wheels and archives bring it for macOS and Windows: made-up trees, found as on those systems. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';
import { run } from '../support/child';
import { ROOT } from '../support/torch';
import { folder } from './folder';

const { findLibtorch, findRuntime } = require('../../lib/libtorch/find') as typeof import('../../lib/libtorch/find');

const mac = { platform: 'darwin', arch: 'arm64' } as const;
const windows = { platform: 'win32', arch: 'x64' } as const;

/** The files of lib/ in the archives, besides those that only Python uses. */
const MAC = ['libc10.dylib', 'libtorch.dylib', 'libtorch_cpu.dylib', 'libtorch_global_deps.dylib', 'libomp.dylib'];
const DLLS = ['c10.dll', 'torch.dll', 'torch_cpu.dll', 'torch_global_deps.dll', 'libiomp5md.dll', 'uv.dll'];
const IMPORTS = ['c10.lib', 'torch.lib', 'torch_cpu.lib'];

function tree(libraries: string[], version = '2.9.1'): string {
  const root = folder();
  const put = (name: string, text = '') => {
    fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    fs.writeFileSync(path.join(root, name), text);
  };
  for (const name of libraries) put(`lib/${name}`);
  for (const name of ['ATen/RegistrationDeclarations.h', 'ATen/core/Tensor.h']) put(`include/${name}`);
  const numbers = version.split('.').map((n, i) => `#define TORCH_VERSION_${['MAJOR', 'MINOR', 'PATCH'][i]} ${n}\n`);
  put('include/torch/csrc/api/include/torch/version.h', '#include <torch/headeronly/version.h>\n');
  put('include/torch/headeronly/version.h', numbers.join(''));
  put('build-version', `${version}+cpu\n`);
  return root;
}
const without = (names: string[], name: string) => names.filter((other) => other !== name);

describe.each([
  ['macOS', mac, MAC, ['libc10.dylib', 'libtorch_cpu.dylib', 'libtorch.dylib'], 'libtorch_cpu.dylib'],
  ['Windows', windows, [...DLLS, ...IMPORTS], ['c10.dll', 'torch_cpu.dll', 'torch.dll'], 'torch_cpu.dll'],
] as const)('%s', (_, machine, libraries, loaded, cpu) => {
  it('is found, with its version, in the order of loading', () => {
    const root = tree([...libraries]);
    const found = findLibtorch({ LIBTORCH: root }, machine);
    const files = loaded.map((name) => path.join(root, 'lib', name));
    expect(found).toMatchObject({ origin: 'LIBTORCH', version: '2.9.1', abi: 'new', cuda: false, sonames: {} });
    expect(Object.values(found.files)).toEqual(files);
    expect(found.includes).toEqual([`${root}/include`, `${root}/include/torch/csrc/api/include`]);
    fs.rmSync(path.join(root, 'include'), { recursive: true });
    // At run time build-version is enough.
    expect(findRuntime({ LIBTORCH: root }, machine)).toMatchObject({ version: '2.9.1', lib: path.join(root, 'lib') });
  });

  it('that lacks a library is refused by its name here', () => {
    const root = tree(without([...libraries], cpu));
    expect(() => findRuntime({ LIBTORCH: root }, machine)).toThrow(`lacks ${cpu}`);
    expect(() => findRuntime({ LIBTORCH: tree(['libc10.so', 'libtorch_cpu.so']) }, machine)).toThrow(`lacks ${cpu}`);
  });
});

it('Windows needs the import libraries for a build, not to run', () => {
  const root = tree(DLLS);
  expect(findRuntime({ LIBTORCH: root }, windows).version).toBe('2.9.1');
  expect(() => findLibtorch({ LIBTORCH: root }, windows)).toThrow('lacks torch_cpu.lib, c10.lib');
  expect(findRuntime({ LIBTORCH: tree([...DLLS, ...IMPORTS, 'c10_cuda.dll', 'torch_cuda.dll']) }, windows).cuda).toBe(
    true,
  );
});

it('where nothing is named, the folders of the system are listed', () => {
  expect(() => findRuntime({}, mac)).toThrow('/opt/homebrew/lib (system)');
  expect(() => findLibtorch({}, windows)).toThrow('torch_cpu.dll, torch_cpu.lib, c10.dll, c10.lib');
});

/** Of scripts/libtorch.mjs. */
async function flags(expression: string): Promise<string[]> {
  const from = JSON.stringify(pathToFileURL(path.join(ROOT, 'scripts/libtorch.mjs')).href);
  const script = `import { c10dFlags, compileFlags, linkFlags } from ${from}; console.log(JSON.stringify(${expression}));`;
  const { stdout, stderr } = await run(process.execPath, ['--input-type=module', '-e', script]);
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}

it('the addon for macOS gets an rpath, as install names begin with @rpath, and no flags of the GNU linker', async () => {
  expect(await flags(`linkFlags({ lib: '/usr/local/lib', cuda: false }, 'darwin')`)).toEqual([
    ...['-L/usr/local/lib', '-Wl,-rpath,/usr/local/lib', '-ltorch', '-ltorch_cpu', '-lc10'],
  ]);
});

it('MSVC gets its own form of the flags, and import libraries by their paths', async () => {
  const root = tree([...DLLS, ...IMPORTS]);
  const { includes, lib } = findLibtorch({ LIBTORCH: root }, windows);
  const given = JSON.stringify({ includes, lib, cudaInclude: null, cuda: false, abi: 'new', cxxStandard: 17 });
  const compiled = await flags(`compileFlags(${given}, 'win32')`);
  expect(compiled).toEqual(
    expect.arrayContaining(['/std:c++17', '/EHsc', '/GR', '/bigobj', '/Zc:__cplusplus', '/DNOMINMAX']),
  );
  expect(compiled.filter((flag) => flag.startsWith('/external:I'))).toEqual(includes.map((dir) => `/external:I${dir}`));
  expect(
    [...compiled, ...(await flags(`linkFlags(${given}, 'win32')`))].filter((flag) => flag.startsWith('-')),
  ).toEqual([]);
  const libraries = ['torch', 'torch_cpu', 'c10'].map((name) => path.join(lib, `${name}.lib`));
  expect(await flags(`linkFlags(${given}, 'win32')`)).toEqual(libraries);
  expect(await flags(`linkFlags({ ...${given}, cuda: true }, 'win32')`)).toEqual([
    '/INCLUDE:?warp_size@cuda@at@@YAHXZ',
    ...['torch_cuda', 'c10_cuda'].map((name) => path.join(lib, `${name}.lib`)),
    ...libraries,
  ]);
});

describe('the second addon', () => {
  const NAMES = ['_ZN4c10d16ProcessGroupNCCLC1ERK', '_ZN4c10d16ProcessGroupNCCL7OptionsC1Eb'];
  const BOUNDARY = 2 ** 24; // the libraries of CUDA are read in parts of this size

  interface Lacking {
    without?: string;
    cuda?: boolean;
    /** Whether the library itself contains Gloo, whose headers lie in a folder of the system. */
    wheel?: boolean;
  }

  /** The flags for a libtorch in which each name of the library is after so many bytes; `without` is a file that is missing. */
  async function c10d(
    names: Record<string, number>,
    { without = '', cuda = true, wheel = false }: Lacking = {},
  ): Promise<string[]> {
    const root = folder();
    const put = (name: string, bytes: string | Buffer = '') => {
      if (name === without) return;
      fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
      fs.writeFileSync(path.join(root, name), bytes);
    };
    for (const name of ['Gloo', 'NCCL']) put(`include/torch/csrc/distributed/c10d/ProcessGroup${name}.hpp`);
    put(wheel ? 'system/gloo/config.h' : 'include/gloo/config.h');
    // A library that does not load libgloo.
    if (wheel) put('lib/libtorch_cpu.so', fs.readFileSync(findLibtorch().files.c10!));
    for (const name of ['cublas_v2.h', 'cusparse.h', 'cusolverDn.h']) put(`toolkit/${name}`);
    put('nccl/nccl.h');
    const library = Buffer.alloc(Math.max(0, ...Object.values(names)) + 100);
    for (const [name, place] of Object.entries(names)) library.write(name, place);
    put('lib/libtorch_cuda.so', library);
    const cudaInclude = cuda ? `${root}/toolkit` : null;
    const ncclInclude = cuda ? `${root}/nccl` : null;
    const libtorch = { includes: [`${root}/include`], lib: `${root}/lib`, cuda, cudaInclude, ncclInclude };
    return flags(`c10dFlags(${JSON.stringify(libtorch)}, ['${root}/system'])?.cflags ?? []`);
  }
  const both = { [NAMES[0]!]: 0, [NAMES[1]!]: 200 };

  it.each([
    ['beside each other', both],
    ['on the boundaries of what is read', { [NAMES[0]!]: BOUNDARY - 10, [NAMES[1]!]: 2 * BOUNDARY - 60 }],
  ])('has NCCL where libtorch exports its names: %s', async (_, names) => {
    expect(await c10d(names)).toEqual(expect.arrayContaining(['-DUSE_C10D_GLOO', '-DUSE_C10D_NCCL']));
  });

  it.each<[string, Record<string, number>, Lacking]>([
    ['without CUDA', both, { cuda: false }],
    ['whose library lacks the constructor', { [NAMES[1]!]: 0 }, {}],
    ['whose library lacks that of the options', { [NAMES[0]!]: BOUNDARY }, {}],
    ...[
      'lib/libtorch_cuda.so',
      'nccl/nccl.h',
      'toolkit/cublas_v2.h',
      'include/torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp',
    ].map((without): [string, Record<string, number>, Lacking] => [`without ${without}`, both, { without }]),
  ])('has Gloo alone with a libtorch %s', async (_, names, more) => {
    const given = await c10d(names, more);
    expect(given).toContain('-DUSE_C10D_GLOO');
    expect(given).not.toContain('-DUSE_C10D_NCCL');
  });

  it.each<[string, Lacking]>([
    ['without the headers of Gloo', { without: 'include/gloo/config.h' }],
    ['in a wheel, which contains another Gloo than the system', { wheel: true }],
  ])('has NCCL alone %s', async (_, more) => {
    const given = await c10d(both, more);
    expect(given).toContain('-DUSE_C10D_NCCL');
    expect(given).not.toContain('-DUSE_C10D_GLOO');
    expect(await c10d(both, { ...more, cuda: false })).toEqual([]);
  });

  it("finds the headers that pip brings beside PyTorch's wheel", () => {
    const site = folder();
    const root = path.join(site, 'torch');
    fs.renameSync(tree([...DLLS, ...IMPORTS, 'c10_cuda.dll', 'torch_cuda.dll']), root);
    const headers = [
      'torch/include/c10/cuda/CUDACachingAllocator.h',
      'nvidia/cu13/include/cuda_runtime_api.h',
      'nvidia/nccl/include/nccl.h',
    ];
    for (const name of headers) {
      fs.mkdirSync(path.dirname(path.join(site, name)), { recursive: true });
      fs.writeFileSync(path.join(site, name), '');
    }
    const { cudaInclude, ncclInclude } = findLibtorch({ LIBTORCH: root }, windows);
    expect(ncclInclude).toBe(path.join(site, 'nvidia/nccl/include'));
    // Those of a toolkit of the machine come first.
    const toolkits = ['/usr/local/cuda', '/opt/cuda', '/usr/lib/cuda'].map((dir) => path.join(dir, 'include'));
    expect([...toolkits, path.join(site, 'nvidia/cu13/include')]).toContain(cudaInclude);
  });
});
