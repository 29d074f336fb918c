/** Chooses the one command that fixes the first problem of a report, if there is one. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Findings } from './examine';
import type { Check } from './judge';

/** What decides which package manager is asked. */
export interface System {
  platform: string;
  arch: string;
  /** Words of ID and ID_LIKE in /etc/os-release. */
  ids: string[];
  /** Whether the C library is glibc; the packages that carry libtorch need it. */
  glibc: boolean;
  isRoot: boolean;
  /** Whether apt has lists of packages; images of containers come without. */
  aptLists: boolean;
  /** Whether the PATH has a program of this name. */
  has: (program: string) => boolean;
  /** Whether CXX names a compiler. */
  compilerNamed: boolean;
}

/** A command and how a user would type it. */
export interface Step {
  shown: string;
  command: string;
  args: string[];
}

export interface Remedy {
  /** The check that it fixes. */
  check: string;
  /** Run one after the other; the first that fails ends the remedy. Empty if no command fixes it. */
  steps: Step[];
  /** Why there is no command; null if there is one. */
  why: string | null;
}

const word = (name: string, text: string): string[] =>
  (new RegExp(`^${name}=(.*)$`, 'm').exec(text)?.[1] ?? '').replace(/["']/g, '').split(/\s+/).filter(Boolean);

function readText(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return ''; // a system without this file
  }
}

function hasFiles(folder: string): boolean {
  try {
    return fs.readdirSync(folder).some((name) => name.includes('_Packages'));
  } catch {
    return false; // not a system of apt
  }
}

/** The system below `root`, as `doctor --root` names it. */
export function readSystem(root: string, env: NodeJS.ProcessEnv = process.env): System {
  const release = readText(path.join(root, 'etc/os-release'));
  const folders = (env.PATH ?? '').split(path.delimiter).filter((dir) => path.isAbsolute(dir));
  const { header } = process.report.getReport() as unknown as { header: { glibcVersionRuntime?: string } };
  return {
    platform: process.platform,
    arch: process.arch,
    ids: [...word('ID', release), ...word('ID_LIKE', release)],
    glibc: header.glibcVersionRuntime !== undefined,
    isRoot: process.getuid?.() === 0,
    aptLists: hasFiles(path.join(root, 'var/lib/apt/lists')),
    has: (program) => folders.some((dir) => fs.existsSync(path.join(dir, program))),
    compilerNamed: Boolean(env.CXX),
  };
}

const step = (command: string, ...args: string[]): Step => ({ shown: [command, ...args].join(' '), command, args });

const isDebian = ({ ids, has }: System): boolean =>
  ids.some((id) => id === 'debian' || id === 'ubuntu') && has('apt-get');

/** apt-get for these packages: as root, or through sudo. Null if neither is possible. */
function apt(system: System, packages: string[]): Step[] | null {
  if (!system.isRoot && !system.has('sudo')) return null;
  const asRoot = (...args: string[]) => (system.isRoot ? step('apt-get', ...args) : step('sudo', 'apt-get', ...args));
  const install = asRoot('install', '--yes', ...packages);
  return system.aptLists ? [install] : [asRoot('update'), install];
}

const noCommand = (check: string, why: string): Remedy => ({ check, steps: [], why });

/** apt-get, or why it cannot be run. */
function byApt(check: string, system: System, packages: string[]): Remedy {
  const steps = apt(system, packages);
  if (steps !== null) return { check, steps, why: null };
  return noCommand(check, `root has to run: apt-get install ${packages.join(' ')}`);
}

/** The variables that choose a libtorch; a command cannot change them in the user's shell. */
const NAMING = ['LIBTORCH', 'LIBTORCH_INCLUDE', 'LIBTORCH_LIB', 'LIBTORCH_USE_PYTORCH'];
const LIBTORCH_PACKAGES = ['libtorch-dev', 'libopenblas0-pthread'];

function libtorchRemedy(findings: Findings, system: System): Remedy {
  const named = NAMING.filter((name) => findings.variables[name] !== undefined);
  if (named.length > 0) {
    return noCommand(
      'libtorch',
      `${named.join(' and ')} must be changed or unset in the shell that starts the program`,
    );
  }
  if (isDebian(system)) return byApt('libtorch', system, LIBTORCH_PACKAGES);
  const { platform, arch, glibc } = system;
  if (platform !== 'linux') {
    return noCommand(
      'libtorch',
      `there is no package of libtorch for ${platform} ${arch}: unpack libtorch, and set LIBTORCH to its folder`,
    );
  }
  if (!glibc || !['x64', 'arm64'].includes(arch)) {
    const what = glibc ? `the processor ${arch}` : 'a C library other than glibc, such as musl';
    return noCommand('libtorch', `the packages of libtorch do not support ${what}`);
  }
  return { check: 'libtorch', steps: [step('npm', 'install', `@libtorch-node/libtorch-linux-${arch}`)], why: null };
}

/** `libtorch-node build`, run by this Node; `npx` would ask a registry where the package is not installed. */
function buildStep({ checkout }: Findings): Step {
  if (checkout) return step('npm', 'run', 'build');
  const program = path.join(__dirname, '..', 'libtorch-node.js');
  return { shown: 'npx libtorch-node build', command: process.execPath, args: [program, 'build'] };
}

function addonRemedy(check: Check, findings: Findings, system: System): Remedy {
  if (findings.libtorch === null) return libtorchRemedy(findings, system);
  if (findings.variables.LIBTORCH_NODE_ADDON !== undefined) {
    return noCommand('addon', 'LIBTORCH_NODE_ADDON must be changed or unset in the shell that starts the program');
  }
  const text = [check.summary, ...check.details].join('\n');
  if (/others could have put it there/.test(text))
    return noCommand('addon', 'somebody has to decide who may write to the folder');
  if (/failed to map segment/.test(text))
    return noCommand('addon', 'the limit on the address space, or the place of the file, must be changed');
  if (/does not load addons/.test(text)) return noCommand('addon', 'NODE_OPTIONS must be changed where it is set');
  if (/already has a libtorch/.test(text)) return noCommand('addon', 'the program itself loads another libtorch');
  if (/cannot open shared object file/.test(text) && isDebian(system)) return byApt('addon', system, LIBTORCH_PACKAGES);
  const compiler = system.compilerNamed || ['g++', 'c++', 'clang++'].some(system.has);
  const first = compiler || !isDebian(system) ? [] : (apt(system, ['g++']) ?? []);
  return { check: 'addon', steps: [...first, buildStep(findings)], why: null };
}

/** What fixes the first problem; null if there is none. */
export function remedyFor(checks: Check[], findings: Findings, system: System): Remedy | null {
  const problem = checks.find(({ status }) => status === 'problem');
  if (problem === undefined) return null;
  if (problem.name === 'libtorch') return libtorchRemedy(findings, system);
  if (problem.name === 'addon') return addonRemedy(problem, findings, system);
  if (problem.name === 'blas' && isDebian(system)) return byApt('blas', system, ['libopenblas0-pthread']);
  return noCommand(problem.name, problem.fix ?? problem.summary);
}
