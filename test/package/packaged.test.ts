/**
 * The libtorch that npm brings: when it is found, when it is refused, what is in the package, and that packing is
 * reproducible. With folders that resemble the package and hold links to the libtorch of this machine;
 * `npm run test:bare` installs the real one.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type Outcome, run } from '../support/child';
import { limitMs, ordinaryEnv } from '../support/sanitized';
import { LIB, ROOT } from '../support/torch';
import { folder } from './folder';
import { likeOwn, minor } from './libtorchs';

jest.setTimeout(limitMs(120_000));

const name = `@libtorch-node/libtorch-${process.platform}-${process.arch}`;
const fits = { format: 1, version: `${minor}.0`, blas: 'OpenBLAS 9.9', glibc: '2.2', glibcxx: '3.4' };

/** A folder of packages with one that has the libraries of this machine; NODE_PATH is where Node looks for it last. */
function packages(manifest: object | string, lib = path.join(likeOwn(), 'lib')): string {
  const root = folder();
  const own = path.join(root, name);
  fs.mkdirSync(own, { recursive: true });
  fs.writeFileSync(path.join(own, 'package.json'), JSON.stringify({ name, version: '2.6.0' }));
  fs.writeFileSync(path.join(own, 'libtorch.json'), typeof manifest === 'string' ? manifest : JSON.stringify(manifest));
  fs.symlinkSync(lib, path.join(own, 'lib'));
  return root;
}

/** Runs a program after the folders of the system's libtorch have been replaced by one that does not exist. */
function load(env: NodeJS.ProcessEnv, { system = false } = {}): Promise<Outcome> {
  const { LIBTORCH, LIBTORCH_INCLUDE, LIBTORCH_LIB, LIBTORCH_USE_PYTORCH, ...rest } = ordinaryEnv();
  const hide = system
    ? ''
    : `require(${JSON.stringify(path.join(LIB, 'libtorch/find.js'))}).systemLibs.splice(0, 9, '/nowhere');`;
  const program =
    `${hide} const torch = require(${JSON.stringify(path.join(LIB, 'index.js'))}); console.log(torch.ones([2, 3]).sum().item());` +
    "console.log(require('fs').readFileSync('/proc/self/maps', 'utf8').match(/\\S*libc10\\.so\\S*/)[0]);";
  return run(process.execPath, ['-e', program], { env: { ...rest, NO_COLOR: '1', ...env } });
}

it('is used where the system has no libtorch, and not where it has one', async () => {
  const root = packages(fits);
  const own = fs.realpathSync(path.join(root, name, 'lib'));
  const found = await load({ NODE_PATH: root });
  expect(found).toMatchObject({ code: 0, stderr: '' });
  const [sum, mapped] = found.stdout.split('\n');
  expect(sum).toBe('6');
  expect(fs.realpathSync(mapped!)).toBe(
    fs.realpathSync(path.join(own, fs.readdirSync(own).find((f) => /c10\.so/.test(f))!)),
  );
  const other = packages({ ...fits, glibc: '99.1' });
  expect(await load({ NODE_PATH: other }, { system: true })).toMatchObject({ code: 0, stderr: '' });
});

it('LIBTORCH and LIBTORCH_USE_PYTORCH come first', async () => {
  const root = packages({ ...fits, glibc: '99.1' });
  expect(await load({ NODE_PATH: root, LIBTORCH: likeOwn() })).toMatchObject({ code: 0, stderr: '' });
  const python = await load({ NODE_PATH: root, LIBTORCH_USE_PYTORCH: '1', PATH: '/usr/bin:/bin' });
  expect(python).toMatchObject({ code: 0, stderr: '' });
  const missing = await load({ NODE_PATH: packages(fits), LIBTORCH: '/nowhere' });
  expect(missing.code).toBe(1);
  expect(missing.stderr).toContain('/nowhere/lib (LIBTORCH) does not exist');
});

it('may be in a folder whose name has spaces and other letters', async () => {
  const root = path.join(folder(), 'größe プロ x');
  // A copy, because the system lists what is loaded by its real path.
  fs.renameSync(
    likeOwn((_, file) => {
      const library = fs.readFileSync(file('c10'));
      fs.rmSync(file('c10'));
      fs.writeFileSync(file('c10'), library);
    }),
    root,
  );
  expect(await load({ LIBTORCH: root })).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/^6\n/) });
  const named = "require('./lib/libtorch/mapped.js').mappedFiles().find((file) => /libc10/.test(file))";
  const mapped = `require('./dist/lib/index.js'); console.log(${named});`;
  const { stdout } = await run('sh', ['-c', 'cd "$0" && exec "$@"', ROOT, process.execPath, '-e', mapped], {
    env: { ...ordinaryEnv(), LIBTORCH: root },
  });
  expect(path.dirname(stdout.trim())).toBe(path.join(root, 'lib'));
});

it.each([
  [
    'glibc',
    { glibc: '99.1' },
    /expected glibc 99\.1 or newer .*, got glibc \d\.\d+ and libstdc\+\+ with GLIBCXX_3\.4\.\d+\./,
  ],
  ['libstdc++', { glibcxx: '3.4.999' }, /GLIBCXX_3\.4\.999 or newer \(of GCC 12\), got glibc \d\.\d+ and/],
])('an older %s is refused before anything is loaded', async (_, change, message) => {
  const root = packages({ ...fits, ...change });
  // Also if LIBTORCH names the package itself.
  for (const env of [{ NODE_PATH: root }, { LIBTORCH: path.join(root, name) }]) {
    const { code, signal, stderr, stdout } = await load(env);
    expect({ code, signal, stdout }).toEqual({ code: 1, signal: null, stdout: '' });
    expect(stderr).toContain("code: 'ERR_TORCH_LOAD'");
    expect(stderr).toMatch(message);
    expect(stderr).toMatch(/Use a newer system .*or install a libtorch that is made for this one, set LIBTORCH/);
  }
});

it('a damaged or incomplete package is an error that names it', async () => {
  const damaged = await load({ NODE_PATH: packages('{ "format": 2 }') });
  expect(damaged.code).toBe(1);
  expect(damaged.stderr).toMatch(/libtorch\.json is damaged: expected format 1, got 2\.\n.*Install @libtorch-node/);
  const empty = await load({ NODE_PATH: packages(fits, folder()) });
  expect(empty.code).toBe(1);
  expect(empty.stderr).toMatch(
    /lib \(npm\) lacks libtorch_cpu\.so, libc10\.so[\s\S]*is not complete: install it again/,
  );
});

it('without any libtorch, the error names the package', async () => {
  const { code, stderr } = await load({});
  expect(code).toBe(1);
  expect(stderr).toContain(`${name} (npm) is not installed`);
  expect(stderr).toContain(`npm install ${name}`);
});

it('doctor names the package and its BLAS', async () => {
  const root = packages(fits);
  const { LIBTORCH_INCLUDE, LIBTORCH_LIB, LIBTORCH_USE_PYTORCH, ...rest } = ordinaryEnv();
  const env = { ...rest, NO_COLOR: '1', LIBTORCH: path.join(root, name) };
  const { code, stdout } = await run(process.execPath, [path.join(ROOT, 'dist/cli/libtorch-node.js'), 'doctor'], {
    env,
  });
  expect(stdout).toContain('brought by an npm package, with OpenBLAS 9.9');
  expect(code).toBe(0);
});

const json = (file: string) => JSON.parse(fs.readFileSync(path.join(ROOT, file), 'utf8'));
const imported = async (file: string, body: string): Promise<string> =>
  execFileSync(
    process.execPath,
    ['--input-type=module', '-e', `import * as it from ${JSON.stringify(path.join(ROOT, file))};\n${body}`],
    {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );

it('each packed library has a licence, and each licence a library', () => {
  const { libraries, replaced, unused } = json('scripts/libtorch-package/parts.json');
  const licences = json('scripts/libtorch-package/licences.json');
  const from = Object.values(libraries as Record<string, { package: string }>).map((library) => library.package);
  expect([...new Set(from)].sort()).toEqual(Object.keys(licences).sort());
  for (const library of Object.keys(libraries)) expect({ ...replaced, ...unused }).not.toHaveProperty([library]);
  for (const { licence, runtimeException, notInside } of Object.values<any>(licences)) {
    expect(/GPL/.test(licence)).toBe(runtimeException === true);
    if (runtimeException) expect(licence).toBe('GPL-3.0-or-later WITH GCC-exception-3.1');
    for (const reason of Object.values(notInside))
      expect(reason).toMatch(/not compiled|taken under|packed libraries|file of 2\.6/);
  }
});

it('yarn unpacks both packages, because libraries cannot be loaded from its archives', () => {
  for (const file of ['package.json', 'scripts/libtorch-package/template/package.json'])
    expect(json(file)).toMatchObject({ preferUnplugged: true });
});

it('files under a GPL that nothing explains stop the package', async () => {
  const text =
    'Files: *\nLicense: MIT\n\nFiles: src/a.c\n src/b.c\nCopyright: somebody\nLicense: LGPL-2.1+\n text\n\nLicense: GPL-3\n text\n';
  const check = (known: object | undefined, copyright: string) =>
    imported(
      'scripts/libtorch-package/notice.mjs',
      `try { it.checkLicence('libx', ${JSON.stringify(copyright)}, ${JSON.stringify(known)}); console.log('fine'); } catch (error) { console.log(error.message); }`,
    );
  expect(await check({ notInside: {} }, text)).toMatch(
    /^libx has files under the GPL, LGPL or AGPL .*: src\/a\.c, src\/b\.c\./,
  );
  expect(await check({ notInside: { 'src/a.c': 'not compiled', 'src/b.c': 'not compiled' } }, text)).toBe('fine\n');
  expect(await check(undefined, text)).toContain('libx is not in licences.json');
  expect(await check({ runtimeException: true, notInside: {} }, text)).toContain(
    'lacks the GCC Runtime Library Exception',
  );
});

it('the same files give the same tarball, in order and without times', async () => {
  const digest = async (names: string[]) => {
    const root = folder();
    fs.mkdirSync(path.join(root, 'lib'));
    for (const file of names) fs.writeFileSync(path.join(root, file), `content of ${file}`);
    fs.utimesSync(path.join(root, names[0]!), 1e9, names.length);
    const tar = path.join(folder(), 'a.tar');
    await imported(
      'scripts/libtorch-package/tarball.mjs',
      `it.writeTar(${JSON.stringify(root)}, ${JSON.stringify(tar)});`,
    );
    const listed = execFileSync('tar', ['-tf', tar], { encoding: 'utf8' });
    expect(listed).toBe('package/README.md\npackage/lib/a.so\npackage/lib/b.so\npackage/package.json\n');
    expect(execFileSync('tar', ['-xOf', tar, 'package/lib/b.so'], { encoding: 'utf8' })).toBe('content of lib/b.so');
    return createHash('sha256').update(fs.readFileSync(tar)).digest('hex');
  };
  const names = ['package.json', 'lib/b.so', 'README.md', 'lib/a.so'];
  expect(await digest(names)).toBe(await digest([...names].reverse()));
});

it('the time of the first require is that of npm against the system: medians of starts', async () => {
  const report = await imported(
    'scripts/bare/starts.mjs',
    `const starts = (...times) => times.map((wall) => ({ wall, cpu: wall / 2, lib: '' }));
     console.log(it.reportOf({ system: starts(400, 200, 9000), npm: starts(100, 300, 500) }).join('\\n'));`,
  );
  expect(report.trimEnd().split('\n')).toEqual([
    "system's libtorch: 400 ms, 200 ms of processor time",
    "npm's libtorch: 300 ms, 150 ms of processor time",
    expect.stringMatching(
      /medians of 3 starts in turn: 0\.75 of the time, 0\.75 of the processor time; the goal is at most 1\.2$/,
    ),
  ]);
});

it('needs of newer versions become weak, and the library still loads', async () => {
  const addon = path.join(folder(), 'copy.node');
  fs.copyFileSync(path.join(ROOT, 'build/Release/libtorch_node.node'), addon);
  const weakened = await imported(
    'scripts/libtorch-package/elf.mjs',
    `const file = ${JSON.stringify(addon)};
     const before = it.readNeededVersions(file).filter(({ weak }) => weak).length;
     const versions = it.weakenNewer(file, { GLIBC: '2.3.4' });
     const after = it.readNeededVersions(file).filter(({ weak }) => weak).map(({ version }) => version);
     console.log(JSON.stringify([before, versions, after]));`,
  );
  const [before, versions, after] = JSON.parse(weakened);
  expect(before).toBe(0);
  expect(versions).toEqual(expect.arrayContaining([expect.stringMatching(/^GLIBC_2\.\d+/)]));
  expect(versions).not.toContain('GLIBC_2.2.5');
  expect(after).toEqual(versions);
  const shown = execFileSync('readelf', ['-V', addon], { encoding: 'utf8' });
  expect(shown).toMatch(/GLIBC_2\.\d+ {2}Flags: WEAK/);
  const { LIBTORCH_NODE_ADDON, ...rest } = ordinaryEnv();
  const program = `console.log(require(${JSON.stringify(path.join(LIB, 'index.js'))}).ones([3]).sum().item())`;
  expect(await run(process.execPath, ['-e', program], { env: { ...rest, LIBTORCH_NODE_ADDON: addon } })).toMatchObject({
    code: 0,
    stdout: '3\n',
  });
});

/** Compiles a stub of the package. @returns its folder */
function stub(name: string, at = folder()): string {
  const stubs = path.join(ROOT, 'scripts/libtorch-package/stubs');
  const map = path.join(stubs, `${name}.map`);
  const versions = fs.existsSync(map) ? [`-Wl,--version-script=${map}`] : [];
  const flags = ['-shared', '-fPIC', '-O2', '-fvisibility=hidden', ...versions];
  execFileSync('g++', [...flags, path.join(stubs, `${name}.cpp`), '-o', path.join(at, `${name}.so`), '-lm']);
  return at;
}

it('what replaces absent libraries and newer functions answers as it should', () => {
  const at = stub('compat', stub('absent'));
  const program = `
import ctypes as c, json, math, sys
absent, compat = (c.CDLL(sys.argv[1] + name) for name in ('/absent.so', '/compat.so'))
text, length, flag, count = c.create_string_buffer(256), c.c_int(), c.c_int(7), c.c_int(7)
absent.MPI_Error_string(16, text, c.byref(length))
absent.MPI_Initialized(c.byref(flag))
absent.ibv_get_device_list.restype = c.POINTER(c.c_void_p)
devices = absent.ibv_get_device_list(c.byref(count))
for name in ('strtol', 'strtoul', 'strtoll', 'strtoull'): getattr(compat, '__isoc23_' + name).restype = c.c_long
numbers = [getattr(compat, '__isoc23_' + name)(b'0x2a', None, 0) for name in ('strtol', 'strtoul', 'strtoll', 'strtoull')]
read = c.c_int()
got = compat.__isoc23_sscanf(b'17 apples', b'%d', c.byref(read))
compat.fmod.restype, compat.fmod.argtypes = c.c_double, [c.c_double] * 2
compat.fmodf.restype, compat.fmodf.argtypes = c.c_float, [c.c_float] * 2
remainders = [compat.fmod(-7.25, 2), compat.fmodf(5.5, 2), math.isnan(compat.fmod(1, 0)), math.isnan(compat.fmod(math.inf, 2))]
print(json.dumps([absent.MPI_Init_thread(None, None, 0, None), text.value.decode(), length.value, flag.value,
  absent.numa_available(), count.value, devices[0], numbers, got, read.value, remainders]))`;
  const answers = JSON.parse(execFileSync('/usr/bin/python3', ['-c', program, at], { encoding: 'utf8' }));
  const why = 'this libtorch is built without MPI: use the backend gloo';
  expect(answers).toEqual([16, why, why.length, 0, -1, 0, null, [42, 42, 42, 42], 1, 17, [-1.25, 1.5, true, true]]);
});

it('the HTTP server that is left out cannot be made: its constructor throws, and its destructor may run', () => {
  const at = stub('absent');
  const source = path.join(at, 'server.cpp');
  // As libtorch declares it: a class of another library, here with room for its members.
  fs.writeFileSync(
    source,
    `#include <exception>
#include <iostream>
namespace httplib { struct Server { Server(); ~Server(); void stop(); char members[4096]; }; }
int main() {
  try { httplib::Server server; std::cout << "made"; } catch (const std::exception& error) { std::cout << error.what(); }
  alignas(httplib::Server) static char memory[sizeof(httplib::Server)];
  auto* const server = reinterpret_cast<httplib::Server*>(memory);
  try { server->stop(); } catch (const std::exception& error) { std::cout << '\\n' << error.what(); }
  server->~Server();
}
`,
  );
  const program = path.join(at, 'server');
  execFileSync('g++', [source, '-o', program, path.join(at, 'absent.so'), `-Wl,-rpath,${at}`]);
  const why = 'this libtorch is built without an HTTP server for torch.distributed';
  expect(execFileSync(program, { encoding: 'utf8' })).toBe(`${why}\n${why}`);
});
