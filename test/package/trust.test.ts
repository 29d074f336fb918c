/**
 * Code that other users could have planted is not run: a cache of bindings that belongs to another user or is writable by
 * others, and a Python module in the current folder. With real folders, owners (as root) and processes.
 */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type Outcome, run } from '../support/child';
import { limitMs, ordinaryEnv } from '../support/sanitized';
import { ROOT } from '../support/torch';
import { folder } from './folder';
import { likeOwn } from './libtorchs';

jest.setTimeout(limitMs(120_000));

const STRANGER = 65533;
const asRoot = process.getuid?.() === 0;
const platform = `${process.platform}-${process.arch}`;
const version = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8')).version;

/** The installed package without its own build, so that the cache is used. */
const copy = folder();
beforeAll(() => {
  fs.cpSync(path.join(ROOT, 'dist'), path.join(copy, 'dist'), { recursive: true });
  fs.copyFileSync(path.join(ROOT, 'package.json'), path.join(copy, 'package.json'));
  fs.symlinkSync(path.join(ROOT, 'node_modules'), path.join(copy, 'node_modules'));
});

interface Planted {
  /** The folder that LIBTORCH_NODE_CACHE names. */
  cache: string;
  /** The folder of the binding. */
  binding: string;
  /** Exists if the code of the binding was run. */
  marker: string;
}

/** A cache with a working binding that records its execution. */
function plant(cache = path.join(folder(), 'cache')): Planted {
  const marker = path.join(folder(), 'ran');
  const binding = path.join(cache, 'bindings', version, platform, 'libtorch-x');
  fs.mkdirSync(binding, { recursive: true, mode: 0o700 });
  for (const name of ['libtorch_node.node', 'binding.json'])
    fs.copyFileSync(path.join(ROOT, 'build/Release', name), path.join(binding, name));
  fs.cpSync(path.join(ROOT, 'lib/generated'), path.join(binding, 'generated'), { recursive: true });
  const table = path.join(binding, 'generated', 'table.js');
  fs.appendFileSync(table, `\nrequire('fs').writeFileSync(${JSON.stringify(marker)}, '');\n`);
  const all = [
    cache,
    ...(fs.readdirSync(cache, { recursive: true }) as string[]).map((name) => path.join(cache, name)),
  ];
  for (const file of all) fs.chmodSync(file, fs.statSync(file).isDirectory() ? 0o700 : 0o600);
  return { cache, binding, marker };
}

function give(to: number, ...files: string[]): void {
  for (const file of files) fs.lchownSync(file, to, to);
}
const below = (dir: string): string[] => [
  dir,
  ...(fs.readdirSync(dir, { recursive: true }) as string[]).map((name) => path.join(dir, name)),
];

const environment = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => {
  const { LIBTORCH_NODE_ADDON, LIBTORCH_NODE_CACHE, ...rest } = ordinaryEnv();
  return { ...rest, NO_COLOR: '1', ...env };
};
/** `uid`: of the user that loads, by a program of the system's: Node itself refuses that where its libuv may use io_uring. */
const load = (env: NodeJS.ProcessEnv, uid?: number): Promise<Outcome> => {
  const script = `const t = require(${JSON.stringify(path.join(copy, 'dist/lib'))}); console.log(t.ones([2, 3]).sum().item());`;
  const command = [process.execPath, '-e', script];
  if (uid === undefined) return run(command[0]!, command.slice(1), { env: environment(env) });
  // Unreadable certificates would cause a warning on stderr, and so may the folder of the tests.
  const { NODE_EXTRA_CA_CERTS: _, ...rest } = environment(env);
  const as = ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
  return run('/bin/sh', ['-c', 'cd / && exec "$@"', 'sh', ...as, ...command], { env: rest });
};
const program = (args: string[], env: NodeJS.ProcessEnv): Promise<Outcome> =>
  run(process.execPath, [path.join(copy, 'dist/cli/libtorch-node.js'), ...args], { env: environment(env) });

/** The checkout's script, which has the sources. */
const buildAnew = (env: NodeJS.ProcessEnv): Promise<Outcome> =>
  run(process.execPath, [path.join(ROOT, 'dist/cli/libtorch-node.js'), 'build', '--force'], { env: environment(env) });

async function expectRefused({ cache, marker }: Planted, reason: RegExp): Promise<void> {
  const loaded = await load({ LIBTORCH_NODE_CACHE: cache });
  expect({ code: loaded.code, stdout: loaded.stdout, ran: fs.existsSync(marker) }).toEqual({
    code: 1,
    stdout: '',
    ran: false,
  });
  expect(loaded.stderr).toContain("code: 'ERR_TORCH_LOAD'");
  expect(loaded.stderr).toMatch(/is not used, as others could have put it there: /);
  expect(loaded.stderr).toMatch(reason);
}

it('a private cache is used', async () => {
  const { cache, marker } = plant();
  expect(await load({ LIBTORCH_NODE_CACHE: cache })).toMatchObject({ code: 0, stdout: '6\n', stderr: '' });
  expect(fs.existsSync(marker)).toBe(true);
  const linked = path.join(folder(), 'link');
  fs.symlinkSync(cache, linked); // our link, to our folder
  expect(await load({ LIBTORCH_NODE_CACHE: linked })).toMatchObject({ code: 0, stdout: '6\n' });
});

describe('a part that others can write to', () => {
  const parts: [string, (planted: Planted) => string, number][] = [
    ['a folder above the cache', ({ cache }) => path.dirname(cache), 0o777],
    ['the cache', ({ cache }) => cache, 0o777],
    ['the cache, sticky', ({ cache }) => cache, 0o1777],
    ['a folder between, by its group', ({ cache }) => path.join(cache, 'bindings', version), 0o770],
    ['the folder of the binding', ({ binding }) => binding, 0o702],
    ['the addon', ({ binding }) => path.join(binding, 'libtorch_node.node'), 0o620],
    ['binding.json', ({ binding }) => path.join(binding, 'binding.json'), 0o602],
    ['a generated file', ({ binding }) => path.join(binding, 'generated', 'raw.js'), 0o666],
  ];
  it.each(parts)('%s', async (_, partOf, mode) => {
    const planted = plant();
    const part = partOf(planted);
    fs.chmodSync(part, mode);
    await expectRefused(
      planted,
      new RegExp(`${part} can be written by other users \\(mode 0?${mode.toString(8)}\\): chmod go-w`),
    );
  });
});

describe('links and other kinds of files', () => {
  it('a binding in another place', async () => {
    const planted = plant();
    const elsewhere = path.join(folder(), 'elsewhere');
    fs.renameSync(planted.binding, elsewhere);
    fs.symlinkSync(elsewhere, planted.binding);
    await expectRefused(planted, /libtorch-x is a symbolic link, expected a folder/);
  });
  it('a file in another place, and a FIFO', async () => {
    const planted = plant();
    const file = path.join(planted.binding, 'generated', 'raw.js');
    fs.renameSync(file, path.join(planted.cache, 'raw.js'));
    fs.symlinkSync(path.join(planted.cache, 'raw.js'), file);
    await expectRefused(planted, /raw\.js is not a regular file but a symbolic link/);
    const other = plant();
    const info = path.join(other.binding, 'binding.json');
    fs.rmSync(info);
    expect((await run('mkfifo', ['-m', '600', info])).code).toBe(0);
    await expectRefused(other, /binding\.json is not a regular file/);
  });
});

(asRoot ? describe : describe.skip)('a part that belongs to another user', () => {
  const parts: [string, (planted: Planted) => string[]][] = [
    ['all of it, in a home that is shared', ({ cache }) => below(cache)],
    ['the folder above, a home of theirs', ({ cache }) => [path.dirname(cache)]],
    ['the folder of the binding', ({ binding }) => [binding]],
    ['the addon', ({ binding }) => [path.join(binding, 'libtorch_node.node')]],
    ['a generated file', ({ binding }) => [path.join(binding, 'generated', 'table.js')]],
  ];
  it.each(parts)('%s', async (_, partsOf) => {
    const planted = plant();
    const theirs = partsOf(planted);
    give(STRANGER, ...theirs);
    await expectRefused(planted, new RegExp(`${theirs[0]} belongs to uid ${STRANGER}, expected root: remove it`));
  });

  it('is also refused if HOME names it', async () => {
    const home = folder();
    const planted = plant(path.join(home, '.cache', 'libtorch-node'));
    give(STRANGER, ...below(home));
    const { code, stderr } = await load({ HOME: home, XDG_CACHE_HOME: '' });
    expect({ code, ran: fs.existsSync(planted.marker) }).toEqual({ code: 1, ran: false });
    expect(stderr).toContain(`${home} belongs to uid ${STRANGER}`);
  });

  it("another user can use root's files and their own, but not a third user's", async () => {
    // Another user may traverse the parent folders.
    const open = (file: string) => fs.chmodSync(file, 0o755);
    open(copy);
    const ofRoot = plant();
    for (const file of [path.dirname(ofRoot.cache), path.dirname(ofRoot.marker), ...below(ofRoot.cache)]) open(file);
    fs.chmodSync(path.dirname(ofRoot.marker), 0o777);
    const first = await load({ LIBTORCH_NODE_CACHE: ofRoot.cache }, STRANGER);
    expect(first).toMatchObject({ code: 0, stdout: '6\n', stderr: '' });
    expect(fs.statSync(ofRoot.marker).uid).toBe(STRANGER);
    const own = plant();
    open(path.dirname(own.cache));
    fs.chmodSync(path.dirname(own.marker), 0o777);
    for (const file of below(own.cache)) open(file);
    give(STRANGER, ...below(own.cache));
    expect(await load({ LIBTORCH_NODE_CACHE: own.cache }, STRANGER)).toMatchObject({ code: 0, stdout: '6\n' });
    fs.rmSync(own.marker);
    const third = await load({ LIBTORCH_NODE_CACHE: own.cache }, STRANGER - 1);
    expect({ code: third.code, ran: fs.existsSync(own.marker) }).toEqual({ code: 1, ran: false });
    expect(third.stderr).toContain(`belongs to uid ${STRANGER}, expected uid ${STRANGER - 1} or root`);
  });
});

(asRoot ? it : it.skip)('a link of another user is not followed, for loading or building', async () => {
  const planted = plant(); // ours, in a folder of ours
  const link = path.join(folder(), 'link');
  fs.symlinkSync(planted.cache, link);
  give(STRANGER, link);
  const reason = `${link} belongs to uid ${STRANGER}, expected root: remove it`;
  await expectRefused({ ...planted, cache: link }, new RegExp(reason));
  const before = below(planted.cache);
  // Also a cache that does not exist yet: nothing is created at the link's target or in another user's folder.
  const theirs = folder();
  give(STRANGER, theirs);
  for (const cache of [link, path.join(link, 'new', 'cache'), path.join(theirs, 'cache')]) {
    const { code, stderr } = await buildAnew({ LIBTORCH_NODE_CACHE: cache });
    expect(code).toBe(1);
    expect(stderr).toContain(`belongs to uid ${STRANGER}, expected root`);
  }
  expect([below(planted.cache), fs.readdirSync(theirs)]).toEqual([before, []]);
});

it('a link redirected during the build: the build uses the examined folder', async () => {
  const [good, evil] = [path.join(folder(), 'good'), path.join(folder(), 'evil')];
  fs.mkdirSync(good, { mode: 0o700 });
  const link = path.join(folder(), 'link');
  fs.symlinkSync(good, link);
  const { binding } = plant(evil);
  const log = path.join(folder(), 'written');
  // The first call redirects the link to a working addon, which a build would try if it used the link's name.
  const script = `#!/bin/sh
[ "$1" = --version ] && echo 'g++ 1.0' && exit 0
ln -sfn ${evil} ${link}
cp -rn ${binding} ${path.dirname(binding)}/.building-$PPID
while [ "$1" != -o ]; do shift; done
echo "$2" >> ${log}
mkdir -p "$(dirname "$2")" && echo text > "$2"
`;
  const cxx = path.join(folder(), 'g++');
  fs.writeFileSync(cxx, script, { mode: 0o755 });
  const { code, stderr } = await buildAnew({ LIBTORCH_NODE_CACHE: link, CXX: cxx });
  expect(fs.readlinkSync(link)).toBe(evil);
  expect(code).toBe(1);
  expect(stderr).toMatch(/The addon was built, but does not work/);
  const written = fs.readFileSync(log, 'utf8').trim().split('\n');
  expect(written.filter((file) => !file.startsWith(`${fs.realpathSync(good)}/`))).toEqual([]);
  // Nothing was built, tried or installed there.
  expect(fs.readdirSync(path.dirname(binding)).filter((name) => !name.startsWith('.'))).toEqual(['libtorch-x']);
});

it('a relative HOME does not place the cache in the current folder', () => {
  const { cacheFolder } = require(path.join(ROOT, 'dist/lib/libtorch/bindings.js'));
  const home = os.userInfo().homedir;
  const usual = cacheFolder({ HOME: home });
  expect(path.isAbsolute(usual)).toBe(true);
  expect(usual.startsWith(home)).toBe(true);
  for (const HOME of ['rel', '.', '']) expect(cacheFolder({ HOME, XDG_CACHE_HOME: 'rel' })).toBe(usual);
});

it('doctor says why and what to do; build refuses to build there', async () => {
  const planted = plant();
  fs.chmodSync(planted.cache, 0o777);
  const env = { LIBTORCH_NODE_CACHE: planted.cache };
  const alone = await program(['doctor'], env);
  expect(alone.code).toBe(1);
  expect(alone.stdout).toContain(`${planted.cache} can be written by other users (mode 0777)`);
  expect(alone.stdout).toMatch(/set LIBTORCH_NODE_CACHE to another one, then build again/);
  // With another addon that fits, it is a note.
  fs.mkdirSync(path.join(copy, 'prebuilds', platform), { recursive: true });
  const good = plant();
  const prebuilt = path.join(copy, 'prebuilds', platform, 'libtorch-x');
  fs.cpSync(good.binding, prebuilt, { recursive: true });
  try {
    expect(await load(env)).toMatchObject({ code: 0, stdout: '6\n', stderr: '' });
    const both = await program(['doctor'], env);
    expect(both.code).toBe(0);
    expect(both.stdout).toMatch(/note +addon/);
    expect(both.stdout).toContain(`${planted.cache} can be written by other users (mode 0777)`);
  } finally {
    fs.rmSync(path.join(copy, 'prebuilds'), { recursive: true });
  }
  expect(fs.existsSync(planted.marker)).toBe(false);
  const build = path.join(ROOT, 'dist/cli/libtorch-node.js');
  const built = await run(process.execPath, [build, 'build', '--force'], { env: environment(env) });
  expect({ code: built.code, stdout: built.stdout }).toEqual({ code: 1, stdout: '' });
  expect(built.stderr).toContain(`${planted.cache} can be written by other users`);
});

it('files of build are private, whatever the umask', async () => {
  const cache = path.join(folder(), 'a', 'cache');
  const bin = folder();
  const log = path.join(bin, 'log');
  // A compiler that records the modes of all existing files, and fails.
  const script = `#!/bin/sh\n[ "$1" = --version ] && echo 'g++ 1.0' && exit 0\ntouch ${cache}/probe\nfind ${path.dirname(cache)} -printf '%m %y %p\\n' >> ${log}\nexit 1\n`;
  fs.writeFileSync(path.join(bin, 'g++'), script, { mode: 0o755 });
  const build = path.join(ROOT, 'dist/cli/libtorch-node.js');
  const command = `umask 0; exec ${process.execPath} ${build} build --force`;
  const { code } = await run('sh', ['-c', command], {
    env: environment({ LIBTORCH_NODE_CACHE: cache, CXX: path.join(bin, 'g++') }),
  });
  expect(code).toBe(1);
  const lines = fs.readFileSync(log, 'utf8').trim().split('\n');
  expect(lines.some((line) => line.includes('.building-'))).toBe(true);
  expect(lines.filter((line) => !/^(700 d|[67]00 f) /.test(line))).toEqual([]);
});

describe('LIBTORCH_USE_PYTORCH', () => {
  const show = `require(${JSON.stringify(path.join(ROOT, 'dist/lib'))});
    console.log(require(${JSON.stringify(path.join(ROOT, 'dist/lib/libtorch/find.js'))}).findRuntime().lib);`;
  const inFolder = (dir: string, env: NodeJS.ProcessEnv) => {
    const { LIBTORCH, LIBTORCH_INCLUDE, LIBTORCH_LIB, ...rest } = environment(env);
    const start = 'cd "$0" && exec "$@"';
    return run('/bin/sh', ['-c', start, dir, process.execPath, '-e', show], {
      env: { ...rest, LIBTORCH_USE_PYTORCH: '1' },
    });
  };
  /** A virtual environment whose PyTorch is the libtorch in use. */
  async function environmentWithTorch(): Promise<{ bin: string; torch: string }> {
    const dir = path.join(folder(), 'venv');
    const made = await run('/usr/bin/python3', ['-m', 'venv', '--without-pip', dir]);
    expect({ code: made.code, stderr: made.stderr }).toEqual({ code: 0, stderr: '' });
    const [name] = fs.readdirSync(path.join(dir, 'lib'));
    const torch = path.join(dir, 'lib', name!, 'site-packages', 'torch');
    fs.cpSync(likeOwn(), torch, { recursive: true, verbatimSymlinks: true });
    fs.writeFileSync(path.join(torch, '__init__.py'), 'raise Exception("nobody imports it")\n');
    return { bin: path.join(dir, 'bin'), torch };
  }
  it('finds that of a virtual environment; does not run modules or a python3 in the current folder', async () => {
    const { bin, torch } = await environmentWithTorch();
    const dir = folder();
    const ran = (name: string) => path.join(dir, `${name} ran`);
    for (const name of ['importlib', 'torch', 'os', 'encodings', 'sitecustomize', 'usercustomize']) {
      fs.mkdirSync(path.join(dir, name));
      fs.writeFileSync(path.join(dir, name, '__init__.py'), `open(${JSON.stringify(ran(name))}, 'w')\n`);
    }
    const script = `#!/bin/sh\ntouch ${JSON.stringify(ran('python3'))}\n`;
    fs.writeFileSync(path.join(dir, 'python3'), script, { mode: 0o755 });
    const outcome = await inFolder(dir, { PATH: `:.:${bin}:/usr/bin:/bin`, PYTHONPATH: '.' });
    expect(fs.readdirSync(dir).filter((name) => name.endsWith(' ran'))).toEqual([]);
    expect(outcome).toMatchObject({ code: 0, stdout: `${path.join(torch, 'lib')}\n`, stderr: '' });
  });
  it.each([
    ['a relative path', 'torch'],
    ['several lines', '/usr/lib\n/tmp'],
    ['what is not there', '/nowhere/torch'],
    ['a file', '/etc/passwd'],
  ])('an answer that is not a folder: %s', async (_, answer) => {
    const bin = folder();
    fs.mkdirSync(path.join(bin, 'torch'));
    fs.writeFileSync(path.join(bin, 'python3'), `#!/bin/sh\nprintf '%s\\n' '${answer}'\n`, { mode: 0o755 });
    const { code, stderr } = await inFolder(bin, { PATH: `${bin}:/usr/bin:/bin` });
    expect(code).toBe(1);
    expect(stderr).toContain(`expected an absolute path, got ${JSON.stringify(answer)}`);
    expect(stderr).toContain("code: 'ERR_TORCH_LOAD'");
  });
});
