/** npm run matrix: its mirror, its refusals, and its cleanup. */
import { execFileSync, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { run } from '../support/child';
import { ordinaryEnv } from '../support/sanitized';
import { ROOT } from '../support/torch';

const isRoot = process.getuid?.() === 0;
let folder: string;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ltn-matrix-'));
});
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

const write = (name: string, text: string) => {
  const file = path.join(folder, name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text);
  return file;
};

/** Runs a module's code, which prints JSON or fails. */
async function evaluate(module: string, code: string, env: NodeJS.ProcessEnv = {}) {
  const file = write('program.mjs', `import * as m from '${pathToFileURL(path.join(ROOT, module))}';\n${code}`);
  return run(process.execPath, [file], { env: { ...ordinaryEnv(), LIBTORCH_NODE_MIRROR: '', ...env } });
}

const findMirror = (env?: NodeJS.ProcessEnv) =>
  evaluate(
    'scripts/matrix/mirror.mjs',
    `console.log(JSON.stringify(m.findMirror({ apt: '${folder}/apt', release: '${folder}/os-release' })));`,
    env,
  );

describe('the mirror', () => {
  beforeEach(() => write('os-release', 'NAME=x\nVERSION_CODENAME=bookworm\n'));

  it('is the one of this release, in deb822 files', async () => {
    write(
      'apt/sources.list.d/a.list',
      'deb http://foreign.example/x bookworm-tools main\ndeb [arch=amd64] http://foreign.example/y nodistro main\n',
    );
    write(
      'apt/sources.list.d/debian.sources',
      'Types: deb\n# a comment\nURIs: http://updates.example/debian\nSuites: bookworm-updates\nComponents: main\n\n' +
        'Types: deb deb-src\nURIs: http://mirror.example/debian\nSuites: other bookworm\nComponents: contrib\n main\nSigned-By: /k.gpg\n',
    );
    const { stdout } = await findMirror();
    expect(JSON.parse(stdout)).toEqual({ uri: 'http://mirror.example/debian', keyring: '/k.gpg' });
  });

  it('or in lists of one line each', async () => {
    write(
      'apt/sources.list',
      '# deb http://off.example/debian bookworm main\ndeb-src http://src.example/debian bookworm main\n' +
        'deb [ arch=amd64 signed-by=/usr/k.gpg ] https://mirror.example/debian bookworm main contrib # note\n',
    );
    const { stdout } = await findMirror();
    expect(JSON.parse(stdout)).toEqual({ uri: 'https://mirror.example/debian', keyring: '/usr/k.gpg' });
  });

  it('or LIBTORCH_NODE_MIRROR; without any of them the error says what to set', async () => {
    const named = await findMirror({ LIBTORCH_NODE_MIRROR: 'http://named.example/debian' });
    expect(JSON.parse(named.stdout)).toEqual({ uri: 'http://named.example/debian' });
    const none = await findMirror();
    expect(none.code).toBe(1);
    expect(none.stderr).toMatch(/No Debian mirror was found in .*bookworm[\s\S]*LIBTORCH_NODE_MIRROR/);
  });
});

describe('impossible runs are refused with a message and exit status 1', () => {
  const matrix = (args: string[], uid: number, env: NodeJS.ProcessEnv = {}) =>
    run(
      process.execPath,
      ['--import', `data:text/javascript,process.getuid=()=>${uid}`, path.join(ROOT, 'scripts/matrix.mjs'), ...args],
      { env: { ...ordinaryEnv(), LIBTORCH_NODE_ROOTS: path.join(folder, 'roots'), ...env } },
    );

  it.each([
    ['an unknown release', ['etch'], 0, {}, /unknown: etch\nusage: npm run matrix/],
    ['no root', ['trixie'], 1000, {}, /The matrix needs root[\s\S]*sudo npm run matrix/],
  ])('%s', async (_, args, uid, env, message) => {
    const { code, stdout, stderr } = await matrix(args, uid, env);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(message);
    expect(fs.existsSync(path.join(folder, 'roots'))).toBe(false);
  });

  it('no debootstrap', async () => {
    const bin = path.join(folder, 'bin');
    fs.mkdirSync(bin);
    fs.symlinkSync('/bin/sh', path.join(bin, 'sh'));
    const { code, stderr } = await matrix(['trixie'], 0, { PATH: bin });
    expect(code).toBe(1);
    expect(stderr).toMatch(/The matrix needs debootstrap, .*apt-get install/);
    expect(fs.existsSync(path.join(folder, 'roots'))).toBe(false);
  });
});

it('without permission for namespaces the error says so, and how to get it', async () => {
  const bin = path.join(folder, 'bin');
  fs.mkdirSync(bin);
  fs.symlinkSync('/bin/sh', path.join(bin, 'sh'));
  for (const name of ['debootstrap', 'chroot', 'setpriv', 'mount']) fs.symlinkSync('/bin/true', path.join(bin, name));
  write('bin/unshare', '#!/bin/sh\necho "unshare: unshare failed: Operation not permitted" >&2\nexit 1\n');
  fs.chmodSync(path.join(bin, 'unshare'), 0o755);
  const code = 'await m.requireMachine().catch((error) => { console.log(error.message); });';
  const asRoot = `process.getuid = () => 0;\n${code}`;
  const { stdout } = await evaluate('scripts/matrix/roots.mjs', asRoot, { PATH: bin });
  expect(stdout).toMatch(/this machine refuses: unshare: .*not permitted\n.*--privileged.*SYS_ADMIN/);
});

it('the checkout is copied: changed files, without deleted ones', async () => {
  const copy = path.join(folder, 'copy');
  const code = `m.copyCheckout('${copy}');`;
  expect((await evaluate('scripts/matrix/checkout.mjs', code)).stderr).toBe('');
  const file = path.join(copy, 'package.json');
  expect(fs.readFileSync(file)).toEqual(fs.readFileSync(path.join(ROOT, 'package.json')));
  expect(fs.existsSync(path.join(copy, 'node_modules'))).toBe(false);
  const old = new Date(2020, 1);
  fs.utimesSync(file, old, old);
  fs.writeFileSync(path.join(copy, 'README.md'), 'changed there');
  write('copy/gone.txt', '');
  write('copy/built.txt', '');
  fs.appendFileSync(path.join(copy, '.copied'), '\0gone.txt');
  await evaluate('scripts/matrix/checkout.mjs', code);
  expect(fs.statSync(file).mtime).toEqual(old);
  expect(fs.readFileSync(path.join(copy, 'README.md'))).toEqual(fs.readFileSync(path.join(ROOT, 'README.md')));
  expect(fs.readdirSync(copy)).not.toContain('gone.txt');
  expect(fs.readdirSync(copy)).toContain('built.txt');
});

describe('inside a root', () => {
  /** A root of this machine's own programs. */
  const smallRoot = () => {
    const root = path.join(folder, 'root');
    for (const name of ['usr', 'etc', 'tmp']) fs.mkdirSync(path.join(root, name), { recursive: true });
    for (const name of ['bin', 'lib', 'lib64', 'sbin']) fs.symlinkSync(`usr/${name}`, path.join(root, name));
    return root;
  };
  const program = (root: string, command: string) =>
    write(
      'inside.mjs',
      `import { runInside } from '${pathToFileURL(path.join(ROOT, 'scripts/matrix/run-in-root.mjs'))}';\n` +
        `process.exitCode = await runInside({ root: '${root}', mounts: [['/usr', '/usr']], stdio: 'inherit' }, 'sh', ['-c', ${JSON.stringify(command)}]);`,
    );
  const mounts = () =>
    fs
      .readFileSync('/proc/self/mounts', 'utf8')
      .split('\n')
      .filter((line) => line.includes(folder));
  const running = (words: string) =>
    execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8', env: ordinaryEnv() })
      .split('\n')
      .filter((line) => line === words);

  it('a command has its own processes and mounts, mounted folders are read-only, and its status is returned', async () => {
    const root = smallRoot();
    const command = 'echo here > /tmp/made; test $(ls -d /proc/[0-9]* | wc -l) -lt 9; touch /usr/x 2>&1; ls /; exit 7';
    const { code, stdout } = await run(process.execPath, [program(root, command)], { env: ordinaryEnv() });
    if (!isRoot) return expect(code).not.toBe(0); // chroot needs root
    expect(code).toBe(7);
    expect(stdout).toMatch(/Read-only file system/);
    expect(stdout.split('\n')).toEqual(expect.arrayContaining(['proc', 'dev', 'sys', 'usr']));
    expect(fs.readFileSync(path.join(root, 'tmp/made'), 'utf8')).toBe('here\n');
    expect(mounts()).toEqual([]);
    expect(fs.readdirSync(path.join(root, 'proc'))).toEqual([]);
  });

  it.each(['SIGTERM', 'SIGKILL', 'SIGINT'] as const)(
    '%s ends all processes inside, and removes the mounts',
    async (signal) => {
      const root = smallRoot();
      const words = `sleep 9${process.pid}${{ SIGTERM: 1, SIGKILL: 2, SIGINT: 3 }[signal]}`;
      const child = spawn(process.execPath, [program(root, `trap '' TERM INT; echo up; ${words}; true`)], {
        env: ordinaryEnv(),
      });
      const ended = new Promise((resolve) => child.once('close', resolve));
      if (isRoot) await new Promise((resolve) => child.stdout.once('data', resolve));
      else await ended;
      if (isRoot) while (running(words).length === 0) await sleep(20);
      child.kill(signal);
      await ended;
      while (running(words).length > 0) await sleep(20);
      expect(mounts()).toEqual([]);
      expect(fs.existsSync(path.join(root, 'proc'))).toBe(true);
    },
  );
});
