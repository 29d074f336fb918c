/** `libtorch-node doctor --fix`: the command for each problem on made-up systems, and what --yes runs. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Findings } from '../../cli/doctor/examine';
import type { Check } from '../../cli/doctor/judge';
import { readSystem, remedyFor, type System } from '../../cli/doctor/remedy';
import { type Outcome, run } from '../support/child';
import { limitMs } from '../support/sanitized';
import { ROOT } from '../support/torch';
import { folder, machine } from './machine';

jest.setTimeout(limitMs(120_000));

const debian: System = {
  ...{ platform: 'linux', arch: 'x64', ids: ['debian'], glibc: true, isRoot: true, aptLists: true },
  ...{ has: (name) => ['apt-get', 'g++', 'npm'].includes(name), compilerNamed: false },
};
const fedora: System = { ...debian, ids: ['fedora'], has: (name) => ['g++', 'npm'].includes(name) };

const problem = (name: string, summary = 'is wrong', fix: string | null = null): Check => ({
  ...{ name, summary, fix, status: 'problem', details: [] },
});
const fine: Check = { ...problem('versions'), status: 'ok' };

/** What is shown for a check that failed. */
function fix(system: Partial<System>, check: Check, findings: Partial<Findings> = {}): string | null {
  const found = { variables: {}, checkout: false, libtorch: {}, ...findings } as Findings;
  const remedy = remedyFor([fine, check, problem('later')], found, { ...debian, ...system });
  expect(remedy!.why === null).toBe(remedy!.steps.length > 0);
  expect(remedy!.check).toBe(check.name === 'addon' && found.libtorch === null ? 'libtorch' : check.name);
  return remedy!.why ?? remedy!.steps.map(({ shown }) => shown).join(' && ');
}

const install = 'apt-get install --yes libtorch-dev libopenblas0-pthread';

it('a healthy machine needs none', () => {
  expect(remedyFor([fine], {} as Findings, debian)).toBeNull();
});

describe('a missing libtorch', () => {
  it.each<[string, Partial<System>, string | RegExp]>([
    ['Debian, as root', {}, install],
    ['Ubuntu', { ids: ['ubuntu', 'debian'] }, install],
    ['a derivative', { ids: ['linuxmint', 'ubuntu', 'debian'] }, install],
    ['an image without lists of packages', { aptLists: false }, `apt-get update && ${install}`],
    [
      'a user who may use sudo',
      { isRoot: false, has: (name) => ['apt-get', 'sudo'].includes(name) },
      `sudo ${install}`,
    ],
    ['a user without sudo', { isRoot: false }, /^root has to run: apt-get install libtorch-dev/],
    ['another Linux', fedora, 'npm install @libtorch-node/libtorch-linux-x64'],
    ['another Linux on arm64', { ...fedora, arch: 'arm64' }, 'npm install @libtorch-node/libtorch-linux-arm64'],
    ['an image of Debian without apt', { has: () => false }, 'npm install @libtorch-node/libtorch-linux-x64'],
    ['musl', { ...fedora, glibc: false }, /do not support a C library other than glibc/],
    ['another processor', { ...fedora, arch: 's390x' }, /do not support the processor s390x/],
    ['macOS', { ...fedora, platform: 'darwin', arch: 'arm64' }, /no package of libtorch for darwin arm64: .*LIBTORCH/],
    ['Windows', { ...fedora, platform: 'win32' }, /no package of libtorch for win32 x64/],
  ])('%s', (_, system, expected) => {
    const shown = fix(system, problem('libtorch'), { libtorch: null });
    if (typeof expected === 'string') expect(shown).toBe(expected);
    else expect(shown).toMatch(expected);
  });

  it('that a variable names: no command can change the shell', () => {
    const variables = { LIBTORCH: '/nowhere', LIBTORCH_LIB: '/nowhere/lib', LD_LIBRARY_PATH: '/x' };
    expect(fix({}, problem('libtorch'), { libtorch: null, variables })).toMatch(/^LIBTORCH and LIBTORCH_LIB must be/);
  });
});

describe('an addon that does not load', () => {
  const unfit = problem('addon', 'is for libtorch 1.13.0, this is libtorch 2.9.1');
  it('for another libtorch: build', () => {
    expect(fix({}, unfit)).toBe('npx libtorch-node build');
    expect(fix({}, unfit, { checkout: true })).toBe('npm run build');
  });
  it('without a compiler: install one first, where apt can', () => {
    const has = (name: string) => name === 'apt-get';
    expect(fix({ has }, unfit)).toBe('apt-get install --yes g++ && npx libtorch-node build');
    expect(fix({ has, compilerNamed: true }, unfit)).toBe('npx libtorch-node build');
    expect(fix({ ...fedora, has: () => false }, unfit)).toBe('npx libtorch-node build');
  });
  it('because a library is missing', () => {
    const lacks = problem('addon', 'libtorch_cpu.so.1.13: cannot open shared object file');
    expect(fix({}, lacks)).toBe(install);
    expect(fix(fedora, lacks)).toBe('npx libtorch-node build');
  });
  it('that a person has to decide about', () => {
    expect(fix({}, problem('addon', 'is not used, as others could have put it there'))).toMatch(/somebody has to/);
    expect(fix({}, unfit, { variables: { LIBTORCH_NODE_ADDON: '/x.node' } })).toMatch(/^LIBTORCH_NODE_ADDON must be/);
  });
});

it('the reference BLAS, and problems that no command fixes', () => {
  expect(fix({}, problem('blas'))).toBe('apt-get install --yes libopenblas0-pthread');
  expect(fix(fedora, problem('blas', 'slow', 'install OpenBLAS'))).toBe('install OpenBLAS');
  expect(fix({}, problem('memory', 'too little', 'Raise the limit.'))).toBe('Raise the limit.');
});

it('a system is read from its files', () => {
  const root = machine({
    '/etc/os-release': 'PRETTY_NAME="Linux Mint"\nID=linuxmint\nID_LIKE="ubuntu debian"\n',
    '/var/lib/apt/lists/mirror_dists_stable_main_binary-amd64_Packages': '',
  });
  const bin = folder();
  fs.writeFileSync(path.join(bin, 'sudo'), '');
  const mint = readSystem(root, { PATH: `${bin}:relative`, CXX: 'clang++' });
  expect(mint).toMatchObject({ ids: ['linuxmint', 'ubuntu', 'debian'], aptLists: true, compilerNamed: true });
  expect([mint.has('sudo'), mint.has('apt-get')]).toEqual([true, false]);
  expect(readSystem(machine({}), {})).toMatchObject({ ids: [], aptLists: false, compilerNamed: false });
});

describe('the program', () => {
  const program = path.join(ROOT, 'dist/cli/libtorch-node.js');
  const missing = { LIBTORCH_NODE_ADDON: '/nowhere/x.node' };
  const doctor = (args: string[], env: NodeJS.ProcessEnv = {}): Promise<Outcome> =>
    run(process.execPath, [program, 'doctor', ...args], { env: { ...process.env, NO_COLOR: '1', ...env } });

  it('prints the remedy after the report, and as JSON', async () => {
    const text = await doctor(['--fix'], missing);
    expect(text.code).toBe(1);
    expect(text.stdout).toMatch(/1 problem\n[\s\S]*\n\nno command fixes addon: LIBTORCH_NODE_ADDON must be changed/);
    const json = JSON.parse((await doctor(['--fix', '--json'], missing)).stdout);
    expect(json.remedy).toMatchObject({ check: 'addon', steps: [], why: expect.stringContaining('must be changed') });
    const healthy = await doctor(['--fix', '--yes']);
    expect({ code: healthy.code, stdout: healthy.stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/healthy\n\nnothing to fix\n$/),
    });
    expect(JSON.parse((await doctor(['--json'])).stdout).remedy).toBeUndefined();
  });

  it('--yes runs what it printed, and tests again', async () => {
    // A reference BLAS is found by the file's name; the fake apt-get records its arguments instead of installing.
    const blas = '/usr/lib/x86_64-linux-gnu/blas';
    if (!fs.existsSync(path.join(blas, 'libblas.so.3'))) return; // only Debian has it beside OpenBLAS
    const bin = folder();
    const record = path.join(bin, 'record');
    for (const name of ['apt-get', 'sudo']) {
      fs.writeFileSync(
        path.join(bin, name),
        `#!/bin/sh\necho "$(basename $0) $*" >> ${record}\nexit \${FAKE_STATUS:-0}\n`,
        {
          mode: 0o755,
        },
      );
    }
    const root = machine({ '/etc/os-release': 'ID=debian\n', '/var/lib/apt/lists/a_Packages': '' });
    const env = { LD_LIBRARY_PATH: blas, PATH: `${bin}:/usr/bin:/bin` };
    const args = ['--root', root, '--fix', '--yes'];
    const { code, stdout } = await doctor(args, env);
    expect(code).toBe(1); // nothing was installed
    expect(stdout.match(/^1 problem$/gm)).toHaveLength(2);
    const command = `${process.getuid!() === 0 ? '' : 'sudo '}apt-get install --yes libopenblas0-pthread`;
    expect(stdout).toContain(`to fix blas:\n\n  ${command}\n`);
    expect(fs.readFileSync(record, 'utf8')).toBe(`${command}\n`);
    const failed = await doctor(args, { ...env, FAKE_STATUS: '100' });
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining(`${command} failed: status 100`) });
    expect(failed.stdout.match(/^1 problem$/gm)).toHaveLength(1);
  });

  it('wrong use exits 2', async () => {
    for (const args of [['--yes'], ['--fix', '--yes', '--json']]) {
      const { code, stdout, stderr } = await doctor(args);
      expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: '' });
      expect(stderr).toMatch(/--yes (requires --fix|and --json cannot be combined)/);
    }
  });
});
