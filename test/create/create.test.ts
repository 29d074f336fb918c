/** `npm create libtorch-node`: arguments, the prompt, npm, and what an interruption leaves. */
import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { folder } from '../package/folder';
import { ROOT } from '../support/torch';
import { answering, below, create, environment, PACKAGE, program, withNpm } from './command';

const manifest = JSON.parse(fs.readFileSync(path.join(PACKAGE, 'package.json'), 'utf8'));
const own = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
const quick = ['--no-install'];

it('is released with the library: same version, same Node, without dependencies', () => {
  expect([manifest.version, manifest.engines, manifest.license]).toEqual([own.version, own.engines, own.license]);
  expect(Object.keys(manifest).filter((name) => /dependencies|scripts/i.test(name))).toEqual([]);
});

it('its package contains the templates completely, also what npm would leave out', async () => {
  const { code, stdout } = await create(PACKAGE, ['--version']);
  expect({ code, stdout }).toEqual({ code: 0, stdout: `${own.version}\n` });
  const at = folder();
  const pack = spawn('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', at], { cwd: PACKAGE });
  let text = '';
  pack.stdout.on('data', (chunk) => {
    text += chunk;
  });
  expect(await new Promise((resolve) => pack.once('close', resolve))).toBe(0);
  const packed = JSON.parse(text)[0].files.map((file: { path: string }) => file.path);
  expect(packed.sort()).toEqual(below(PACKAGE));
});

it('--help lists the options, the templates and the exit statuses', async () => {
  const { code, stdout, stderr } = await create(folder(), ['--help']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  for (const text of [
    '--template',
    '--yes',
    '--no-install',
    '--system-libtorch',
    'service',
    'training',
    'audit',
    '130',
  ])
    expect(stdout).toContain(text);
  expect(stdout.split('\n').filter((line) => line.length > 90)).toEqual([]);
});

describe('wrong use exits with 2, says what was expected, and makes nothing', () => {
  it.each([
    [['--nope'], /Unknown option '--nope'/],
    [['a', 'b'], /expected one folder, got a, b/],
    [['a', '--template', 'game'], /--template: expected service, training, audit, got game/],
    [['--yes'], /expected a folder, got none/],
    [['a'], /expected --template or --yes, got none, and there is no terminal/],
    [['node_modules', '--yes'], /not reserved by npm, got node_modules/],
    [['---', '--yes'], /./],
    [['\u001b[2J.\u202e', '--yes', '--template', 'x\u001b'], /got x\\u001b/],
  ])('%j', async (args, message) => {
    const at = folder();
    const { code, stdout, stderr } = await create(at, args);
    expect({ code, stdout, made: fs.readdirSync(at) }).toEqual({ code: 2, stdout: '', made: [] });
    expect(stderr).toMatch(message);
  });

  it('a folder that is not empty, and a file', async () => {
    const at = folder();
    fs.mkdirSync(path.join(at, 'full'));
    fs.writeFileSync(path.join(at, 'full/notes.txt'), 'mine');
    fs.writeFileSync(path.join(at, 'file'), 'mine');
    for (const [name, why] of [
      ['full', 'which contains notes.txt'],
      ['file', 'which is a file'],
      ['.', 'which contains file, full'],
    ] as const) {
      const { code, stderr } = await create(at, [name, '--yes', ...quick]);
      expect({ name, code, stderr }).toEqual({ name, code: 2, stderr: expect.stringContaining(why) });
    }
    expect(below(at)).toEqual(['file', 'full/notes.txt']);
  });
});

describe('a project', () => {
  it('in a new folder: named after it, with the library of the same version', async () => {
    const at = folder();
    const { code, stdout } = await create(at, ['Some Where/My Project', '--template', 'training', ...quick]);
    expect(code).toBe(0);
    expect(stdout).toContain('cd Some Where/My Project\n  npm install\n  npm start\n  npm test\n  npm run leaks');
    const made = path.join(at, 'Some Where/My Project');
    const { name, dependencies, optionalDependencies } = JSON.parse(
      fs.readFileSync(path.join(made, 'package.json'), 'utf8'),
    );
    expect({ name, dependencies }).toEqual({
      name: 'my-project',
      dependencies: { 'libtorch-node': own.version },
    });
    const parts = JSON.parse(fs.readFileSync(path.join(ROOT, 'scripts/libtorch-package/parts.json'), 'utf8'));
    expect(optionalDependencies).toEqual({
      '@libtorch-node/libtorch-linux-x64': parts.version,
      '@libtorch-node/libtorch-linux-arm64': parts.version,
    });
    expect(fs.readFileSync(path.join(made, 'README.md'), 'utf8')).toMatch(/^# my-project\n/);
    expect(fs.existsSync(path.join(made, '.gitignore'))).toBe(true);
    expect(fs.readdirSync(path.join(at, 'Some Where'))).toEqual(['My Project']);
  });

  it('in the working folder, after git init', async () => {
    const at = folder();
    fs.mkdirSync(path.join(at, '.git'));
    const { code, stderr } = await create(at, ['.', '--yes', '--system-libtorch', ...quick]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('✓ files of the template service') });
    expect(fs.readdirSync(at)).toEqual(expect.arrayContaining(['.git', '.gitignore', 'package.json', 'src', 'test']));
    expect(fs.readdirSync(at).filter((name) => name.includes('making'))).toEqual([]);
    expect(fs.readFileSync(path.join(at, 'package.json'), 'utf8')).not.toContain('optionalDependencies');
  });
});

describe('npm install', () => {
  it('runs once, in the new project', async () => {
    const at = folder();
    const npm = withNpm(`echo "$@" > ${at}/arguments; mkdir node_modules; cp package.json node_modules/seen.json`);
    const { code, stderr } = await create(at, ['app', '--yes'], npm);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/✓ npm install \d+\.\d s\n$/) });
    expect(fs.readFileSync(path.join(at, 'arguments'), 'utf8')).toMatch(/^install --no-audit/);
    expect(JSON.parse(fs.readFileSync(path.join(at, 'app/node_modules/seen.json'), 'utf8')).name).toBe('app');
  });

  it('that fails: its last lines, exit status 1, and nothing is left', async () => {
    const at = folder();
    const { code, stdout, stderr } = await create(
      at,
      ['new/app', '--yes'],
      withNpm('mkdir node_modules; echo "npm error network" >&2; exit 7'),
    );
    expect({ code, stdout, left: fs.readdirSync(at) }).toEqual({ code: 1, stdout: '', left: [] });
    expect(stderr).toMatch(/npm error network\nnpm install failed: status 7\. Nothing was made\. With --no-install/);
    const none = await create(at, ['app', '--yes'], { PATH: folder() });
    expect({ code: none.code, left: fs.readdirSync(at) }).toEqual({ code: 1, left: [] });
  });

  it('that fails in an empty folder leaves it empty', async () => {
    const at = folder();
    const { code } = await create(at, ['.', '--yes'], withNpm('mkdir node_modules; exit 1'));
    expect({ code, left: fs.readdirSync(at) }).toEqual({ code: 1, left: [] });
  });

  // The second npm ends well although it was interrupted, which must not count as success.
  it.each([
    ['SIGINT', 130, 'exec sleep 60'],
    ['SIGTERM', 143, "trap 'exit 0' TERM; sleep 60 & wait"],
  ] as const)('%s while it runs leaves nothing', async (signal, status, work) => {
    const at = folder();
    const npm = withNpm(`mkdir node_modules; echo started > ${at}/started; ${work}`);
    const child = spawn(process.execPath, [program, 'deep/app', '--yes'], {
      cwd: at,
      env: environment(npm),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    await new Promise<void>((resolve) => {
      const look = setInterval(() => {
        if (!fs.existsSync(path.join(at, 'started')) && child.exitCode === null) return;
        clearInterval(look);
        resolve();
      }, 10);
    });
    expect(fs.readdirSync(path.join(at, 'deep'))).toEqual([expect.stringMatching(/^\.app\.making-\d+$/)]);
    child.kill(signal);
    expect(await ended).toBe(status);
    expect(fs.readdirSync(at)).toEqual(['started']);
  });
});

describe('on a terminal', () => {
  it('it asks for what is missing, and asks again after a wrong answer', async () => {
    const at = folder();
    fs.writeFileSync(path.join(at, 'file'), '');
    const { code, text } = await answering(
      at,
      ['--no-install'],
      [
        ['Folder (my-tensors): ', 'file\r'],
        ['which is a file', ''],
        ['Folder (my-tensors): ', 'new\r'],
        ['Template (1): ', '9\r'],
        ['expected a number from 1 to 3', ''],
        ['Template (1): ', '3\r'],
      ],
    );
    expect({ code, made: fs.readdirSync(at).sort() }).toEqual({ code: 0, made: ['file', 'new'] });
    expect(text).toContain('1  service');
    expect(fs.existsSync(path.join(at, 'new/leaks.json'))).toBe(true);
  });

  it('Ctrl-C and Ctrl-D at a question make nothing', async () => {
    for (const key of ['\u0003', '\u0004']) {
      const at = folder();
      const { code, text } = await answering(at, ['app'], [['Template (1): ', key]]);
      expect({ code, made: fs.readdirSync(at) }).toEqual({ code: 130, made: [] });
      expect(text).toContain('interrupted, nothing was made');
    }
  });
});
