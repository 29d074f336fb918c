/** What the findings mean: one check per subject, with what to do about it. */
import { formatBytes, formatCount } from '../units';
import type { Findings } from './examine';
import { adviseLimit, type LimitAdvice } from './limit';
import type { ProbeResults } from './probe';

export type Status = 'ok' | 'note' | 'problem';

export interface Check {
  name: string;
  status: Status;
  /** One line. */
  summary: string;
  /** More lines: reasons, figures. */
  details: string[];
  /** What to do; null when there is nothing to do. */
  fix: string | null;
}

const check = (name: string, status: Status, summary: string, more: Partial<Check> = {}): Check => ({
  name,
  status,
  summary,
  details: [],
  fix: null,
  ...more,
});

export function judge(findings: Findings): Check[] {
  const checks = [versions(findings), libtorch(findings), addon(findings)];
  // What the steps after the load would say, the load has said.
  if (findings.probe.load !== undefined) {
    checks.push(op(findings), cpu(findings), threads(findings), blas(findings), gpu(findings), collector(findings));
  }
  return [...checks, memory(findings)];
}

function versions({ package: own, node, napi, platform, probe }: Findings): Check {
  const { library } = probe;
  const libtorch = library === undefined ? '' : `, libtorch ${library.libtorch}`;
  const details = library === undefined ? [] : [configLine(library.config)];
  return check('versions', 'ok', `libtorch-node ${own}${libtorch}, Node ${node} (Node-API ${napi}), ${platform}`, {
    details,
  });
}

/** PyTorch's config in one line, without the compiler's flags. */
function configLine(config: string): string {
  const items = config
    .split('\n')
    .map((line) => /^\s*- (.*)$/.exec(line)?.[1]?.replace(/ \(.*\)$/, ''))
    .filter((item): item is string => item !== undefined && !item.startsWith('Build settings'));
  return items.join('; ');
}

function failureOf(findings: Findings, step: keyof ProbeResults): Check | null {
  const failure = findings.failures.find((other) => other.step === step);
  if (failure !== undefined) {
    const code = failure.code === null ? '' : `${failure.code}: `;
    return check(step, 'problem', `${code}${failure.message.split('\n')[0]}`, {
      details: failure.message.split('\n').slice(1),
    });
  }
  if (findings.probe[step] !== undefined) return null;
  return check(step, 'problem', `the process ended in this step (${findings.crashed ?? 'without an answer'})`, {
    details: findings.stderr.split('\n').filter(Boolean).slice(0, 10),
    fix: `The addon may be built for another libtorch or processor: build it on this machine, ${buildCommand(findings)}.`,
  });
}

/** How the addon is built, here. */
const buildCommand = ({ checkout }: Findings): string =>
  checkout ? '`npm run build` in the folder of libtorch-node' : '`npx libtorch-node build`';

function libtorch({ libtorch: found, libtorchError, variables }: Findings): Check {
  const set = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  if (found === null) {
    const lines = (libtorchError ?? '').split('\n');
    const fix = lines.length > 1 ? lines[lines.length - 1]! : null;
    return check('libtorch', 'problem', lines[0]!, { details: [...lines.slice(1, -1), ...set], fix });
  }
  const { version, abi, cuda, sonames, lib, origin } = found;
  const name = sonames.torch_cpu === undefined ? '' : ` (${sonames.torch_cpu})`;
  const chosen =
    origin === 'system' ? "the system's: neither LIBTORCH nor LIBTORCH_USE_PYTORCH is set" : `by ${origin}`;
  return check('libtorch', 'ok', `${version}${name} in ${lib}, ${abi} C++ ABI, ${cuda ? 'with' : 'without'} CUDA`, {
    details: [`chosen: ${chosen}`, ...set],
  });
}

/** For an addon of the cache that somebody else could have planted. */
const REFUSED_FIX =
  'Look who could write to the folder that is named; make it yours alone (chown, chmod go-w) or name another one with LIBTORCH_NODE_CACHE, and build there again: BUILD.';

/** Reasons why an addon does not load, by what the loader says, with the fix. */
const LOAD_FIXES: [RegExp, string][] = [
  [/others could have put it there/, REFUSED_FIX],
  [/already has a libtorch/, 'Let both use one libtorch: set LIBTORCH to the root of the one that is loaded first.'],
  [/: not there|this is libtorch|has no addon.*\n {2}none in/, 'Build the addon for this libtorch: BUILD.'],
  [
    /cannot open shared object file|image not found/,
    'A library is missing. On Debian or Ubuntu: apt-get install libtorch-dev libopenblas0-pthread. Elsewhere: set LIBTORCH to the folder of libtorch and build again.',
  ],
  [
    /undefined symbol|symbol not found|version `|GLIBC/i,
    'The addon was built for another libtorch or C library than the one it finds: build it again here, BUILD.',
  ],
  [
    /NODE_MODULE_VERSION|invalid ELF header|wrong ELF class|mach-o|another processor|shared library/i,
    'The addon was built for another platform: build it again here, BUILD.',
  ],
];

const ORIGINS: Record<string, string> = {
  LIBTORCH_NODE_ADDON: 'LIBTORCH_NODE_ADDON names it',
  checkout: "the checkout's own build",
  cache: '`libtorch-node build` made it on this machine',
  prebuilt: 'the package brings it for this libtorch',
};

function addon(findings: Findings): Check {
  const failed = failureOf(findings, 'load');
  if (failed !== null) {
    const text = [failed.summary, ...failed.details].join('\n');
    if (findings.libtorch === null)
      return { ...failed, name: 'addon', summary: 'not loaded: no libtorch', details: [] };
    const fix = (
      LOAD_FIXES.find(([pattern]) => pattern.test(text))?.[1] ??
      failed.fix ??
      'Build the addon again: BUILD.'
    ).replace('BUILD', buildCommand(findings));
    // ERR_TORCH_LOAD lists a file and its reason per indented line, and ends with a general advice.
    const details = failed.summary.startsWith('ERR_TORCH_LOAD')
      ? failed.details.filter((line) => line.startsWith(' '))
      : failed.details;
    return { ...failed, name: 'addon', details, fix };
  }
  const { addon: file, libraries } = findings.probe.load!;
  const torch = libraries.filter((library) => /lib(torch|c10)[^/]*\.(so|dylib)/.test(library));
  const chosen = findings.addons.find((candidate) => candidate.problem === null);
  const details = [
    ...(chosen === undefined ? [] : [`chosen: ${ORIGINS[chosen.from] ?? chosen.from}`]),
    ...findings.addons
      .filter(({ problem }) => problem !== null)
      .map((candidate) => `not ${candidate.file}: ${candidate.problem}`),
    ...(torch.length === 0 ? [] : [`on ${torch.join(', ')}`]),
  ];
  const refused = findings.addons.some((candidate) => candidate.refused);
  if (!refused) return check('addon', 'ok', file ?? 'loaded', { details });
  return check('addon', 'note', file ?? 'loaded', {
    details,
    fix: REFUSED_FIX.replace('BUILD', buildCommand(findings)),
  });
}

function op(findings: Findings): Check {
  const failed = failureOf(findings, 'op');
  if (failed !== null) return failed;
  const { expected, got } = findings.probe.op!;
  if (got === expected) return check('op', 'ok', `torch.ones([2, 3]).sum() is ${got}`);
  return check('op', 'problem', `torch.ones([2, 3]).sum() is ${got}, not ${expected}`, {
    fix: 'libtorch or its BLAS computes wrongly on this machine: install another build of it.',
  });
}

/** What libtorch chose its kernels by, of its own report. */
function cpu(findings: Findings): Check {
  const config = findings.probe.library?.config;
  if (config === undefined) return failureOf(findings, 'library') ?? check('cpu', 'note', 'unknown');
  const usage = /CPU capability usage: (.+)/.exec(config)?.[1]?.trim();
  if (usage === undefined) return check('cpu', 'ok', `${findings.cores} cores; libtorch does not say its capability`);
  const summary = `libtorch uses ${usage} kernels on ${findings.cores} cores`;
  if (!/^(NO AVX|DEFAULT)$/i.test(usage) || process.arch !== 'x64') return check('cpu', 'ok', summary);
  const named = findings.variables.ATEN_CPU_CAPABILITY;
  return check('cpu', 'note', `${summary}: none for wide vectors`, {
    fix:
      named === undefined
        ? 'The processor, or the machine that it is emulated by, has no AVX2: elementwise ops are several times slower.'
        : `ATEN_CPU_CAPABILITY=${named} asks for that: unset it.`,
  });
}

function gpu({ libtorch: found, probe }: Findings): Check {
  const devices = probe.library?.cudaDevices ?? 0;
  if (devices > 0) return check('gpu', 'ok', `${devices} CUDA ${devices === 1 ? 'device' : 'devices'}`);
  if (found?.cuda !== true) return check('gpu', 'ok', 'no CUDA device, and this libtorch is without CUDA');
  return check('gpu', 'note', 'this libtorch has CUDA, and sees no CUDA device', {
    fix: "Where there is a GPU: its driver is missing, older than libtorch's CUDA, or hidden (CUDA_VISIBLE_DEVICES).",
  });
}

function threads(findings: Findings): Check {
  const { cores, cgroup, probe } = findings;
  const count = probe.library?.threads;
  if (count === undefined) return failureOf(findings, 'library') ?? check('threads', 'note', 'unknown');
  const usable = cgroup.cpus === null ? cores : Math.min(cores, Math.max(1, Math.floor(cgroup.cpus)));
  const quota = cgroup.cpus === null ? 'no quota' : `a quota of ${Number(cgroup.cpus.toFixed(2))}`;
  const summary = `an op uses up to ${count} of ${cores} cores (${quota})`;
  if (count > usable) {
    return check('threads', 'note', summary, {
      fix: `More threads than processors slow each other down: torch.setNumThreads(${usable}), or OMP_NUM_THREADS=${usable}.`,
    });
  }
  if (count === 1 && usable > 1) {
    return check('threads', 'note', summary, { fix: `For large tensors: torch.setNumThreads(${usable}).` });
  }
  return check('threads', 'ok', summary);
}

/**
 * The BLAS among the loaded libraries. Debian's libblas.so.3 leads to the chosen one, also where another is loaded beside
 * it for LAPACK; the reference one is plain loops.
 */
function blasOf(libraries: string[]): { name: string; reference: boolean } | null {
  const optimised = /openblas|mkl|blis|atlas|accelerate/i;
  const file =
    libraries.find((name) => /\/lib(ref)?blas[^/]*$/.test(name)) ?? libraries.find((name) => optimised.test(name));
  if (file === undefined) return null;
  const name = file.split('/').slice(-2).join('/');
  return { name, reference: !optimised.test(file) };
}

function blas(findings: Findings): Check {
  const failed = failureOf(findings, 'blas');
  if (failed !== null) return failed;
  const { mmMicroseconds } = findings.probe.blas!;
  const found = blasOf(findings.probe.load!.libraries);
  const speed = `128×128 mm in ${Math.round(mmMicroseconds)} µs`;
  if (found?.reference === true) {
    return check('blas', 'problem', `${speed}, by the reference BLAS (${found.name})`, {
      fix: 'Matrix products are about 20 times slower than they could be. On Debian or Ubuntu: apt-get install libopenblas0-pthread',
    });
  }
  // 0.5 ms is 8 GFLOP/s: less than one core of any machine of the last ten years does with a good BLAS.
  if (mmMicroseconds > 500) {
    return check('blas', 'note', `${speed}, which is slow${found === null ? '' : ` for ${found.name}`}`, {
      fix: 'Either the machine is busy, or libtorch has no optimised BLAS. On Debian or Ubuntu: apt-get install libopenblas0-pthread',
    });
  }
  return check('blas', 'ok', found === null ? speed : `${speed}, by ${found.name}`);
}

function collector(findings: Findings): Check {
  const failed = failureOf(findings, 'collector');
  if (failed !== null) return failed;
  const { made, externalRose, alive, peak } = findings.probe.collector!;
  const details = [
    `external rose by ${formatBytes(externalRose)} with ${made} tensors of 1 MiB; after they were dropped and collected ` +
      `${formatCount(alive)} were alive; a loop over ${formatCount(8 * made)} of them never had more than ${formatCount(peak)}`,
  ];
  if (alive > 0) {
    return check('collector', 'problem', 'tensors outlive the collection that finds them unused', {
      details,
      fix: 'This runtime does not run finalizers during collection: use torch.scope or dispose(), or a released Node 20 or later.',
    });
  }
  if (externalRose < (made * 2 ** 20) / 2) {
    return check('collector', 'problem', 'V8 does not know how large tensors are, so it collects too late', {
      details,
      fix: 'This runtime ignores napi_adjust_external_memory: use torch.scope or dispose(), or a released Node 20 or later.',
    });
  }
  return check('collector', 'ok', 'V8 knows the bytes, and frees tensors while it collects', { details });
}

/** The limit that holds, what set it, and the figure for torch.setMemoryLimit; null without one. */
export function limitAdvice({ cgroup, probe, physicalBytes }: Findings): { of: string; advice: LimitAdvice } | null {
  const limits = [cgroup.memory, cgroup.memoryHigh].filter((limit) => limit !== null);
  if (limits.length === 0 || probe.memory === undefined) return null;
  const least = limits.reduce((a, b) => (b.bytes < a.bytes ? b : a));
  if (least.bytes >= physicalBytes) return null; // a limit that cannot be reached
  const { rss, heapLimit } = probe.memory;
  return {
    of: least.file,
    advice: adviseLimit({ limitBytes: least.bytes, heapLimitBytes: heapLimit, baselineBytes: rss }),
  };
}

function memory(findings: Findings): Check {
  const { cgroup, physicalBytes, probe } = findings;
  const details: string[] = [];
  if (probe.memory !== undefined) {
    details.push(
      `V8's heap may grow to ${formatBytes(probe.memory.heapLimit)}; a process with libtorch starts at ${formatBytes(probe.memory.rss)}`,
    );
  }
  const physical = `${formatBytes(physicalBytes)} in the machine`;
  const limits = [cgroup.memory, cgroup.memoryHigh]
    .filter((limit) => limit !== null)
    .map((limit) => `${formatBytes(limit.bytes)} by ${limit.file}`);
  if (limits.length === 0) {
    const group =
      cgroup.version === null ? 'no control group' : `control group (version ${cgroup.version}) without a limit`;
    return check('memory', 'ok', `${physical}, ${group}`, { details });
  }
  const found = limitAdvice(findings);
  const summary = `${physical}, limited to ${limits.join(' and ')}`;
  if (found === null) return check('memory', 'ok', summary, { details });
  return limited(summary, details, found.advice);
}

function limited(summary: string, details: string[], advice: LimitAdvice): Check {
  const heap = advice.heapMiB === null ? '' : `start node with --max-old-space-size=${advice.heapMiB}, and `;
  if (!advice.fits) {
    return check('memory', 'problem', summary, {
      details,
      fix: 'Too little for libtorch: the process needs what it starts with, V8 its heap, and tensors the rest. Raise the limit.',
    });
  }
  return check('memory', 'note', summary, {
    details: [
      ...details,
      'Over the limit the kernel ends the process without a word; torch.setMemoryLimit collects first, and then throws.',
    ],
    fix:
      `${heap}call torch.setMemoryLimit(${advice.bytes}) // ${formatBytes(advice.bytes)}: the limit, less V8's heap, less what ` +
      'the process starts with, less 5%. See docs/memory-limits.md.',
  });
}
