/** Turns the findings into checks, one per subject, with fixes. */
import { buildCommand } from '../../lib/libtorch/bindings';
import { counted, formatBytes, formatCount } from '../terminal/units';
import type { Findings } from './examine';
import { adviseLimit, type LimitAdvice } from './limit';
import type { ProbeResults } from './probe';

export type Status = 'ok' | 'note' | 'problem';

export interface Check {
  name: string;
  status: Status;
  /** One line. */
  summary: string;
  /** Further lines: reasons, figures. */
  details: string[];
  /** What to do; null if nothing. */
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
  // If loading failed, the later steps have nothing to add.
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
  return check(step, 'problem', `the process ended during this step (${findings.crashed ?? 'no result'})`, {
    details: findings.stderr.split('\n').filter(Boolean).slice(0, 10),
    fix: `The addon may be built for another libtorch or processor. Build it on this machine: ${buildCommand({ checkout: findings.checkout })}.`,
  });
}

/** Why a libtorch was chosen that no variable names. */
const CHOSEN: Record<string, string> = {
  system: "the system's: neither LIBTORCH nor LIBTORCH_USE_PYTORCH is set",
  npm: 'the one that npm installed: neither LIBTORCH nor LIBTORCH_USE_PYTORCH is set, and the system has none',
};

function libtorch({ libtorch: found, libtorchError, variables }: Findings): Check {
  const set = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  if (found === null) {
    const lines = (libtorchError ?? '').split('\n');
    const fix = lines.length > 1 ? lines[lines.length - 1]! : null;
    return check('libtorch', 'problem', lines[0]!, { details: [...lines.slice(1, -1), ...set], fix });
  }
  const { version, abi, cuda, sonames, lib, origin, blas } = found;
  const name = sonames.torch_cpu === undefined ? '' : ` (${sonames.torch_cpu})`;
  const chosen = CHOSEN[origin] ?? `by ${origin}`;
  return check('libtorch', 'ok', `${version}${name} in ${lib}, ${abi} C++ ABI, ${cuda ? 'with' : 'without'} CUDA`, {
    details: [`chosen: ${chosen}`, ...(blas === undefined ? [] : [`brought by an npm package, with ${blas}`]), ...set],
  });
}

/** For an addon in the cache that another user could have written. */
const REFUSED_FIX =
  'Check who can write to the named folder. Restrict it to your user (chown, chmod go-w) or set LIBTORCH_NODE_CACHE to another one, then build again: BUILD.';

/** Reasons why an addon does not load, by what the loader says, with the fix. */
const LOAD_FIXES: [RegExp, string][] = [
  [/others could have put it there/, REFUSED_FIX],
  [
    /failed to map segment/,
    'The system refused to map a library: raise the limit on the address space (ulimit -v), or move the named file from a file system that is mounted noexec.',
  ],
  [/does not load addons/, 'Start Node without --no-addons or with --allow-addons; check NODE_OPTIONS.'],
  [
    /already has a libtorch/,
    'Use the same libtorch for both: set LIBTORCH to the root of the one that is loaded first.',
  ],
  [/: does not exist|this is libtorch|has no addon.*\n {2}none in/, 'Build the addon for this libtorch: BUILD.'],
  [
    /cannot open shared object file|image not found/,
    'A library is missing. On Debian or Ubuntu: apt-get install libtorch-dev libopenblas0-pthread. Elsewhere, set LIBTORCH to the folder of libtorch and build again.',
  ],
  [
    /undefined symbol|symbol not found|version `|GLIBC/i,
    'The addon was built for another libtorch or C library. Build it on this machine: BUILD.',
  ],
  [
    /NODE_MODULE_VERSION|invalid ELF header|wrong ELF class|mach-o|another processor|shared library/i,
    'The addon was built for another platform. Build it on this machine: BUILD.',
  ],
];

const ORIGINS: Record<string, string> = {
  LIBTORCH_NODE_ADDON: 'set by LIBTORCH_NODE_ADDON',
  checkout: 'built in the checkout',
  cache: 'built by `libtorch-node build` on this machine',
  prebuilt: 'included in the package for this libtorch',
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
    ).replace('BUILD', buildCommand({ checkout: findings.checkout }));
    // ERR_TORCH_LOAD lists each file with its reason on an indented line, and ends with general advice.
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
      .map((candidate) => `skipped ${candidate.file}: ${candidate.problem}`),
    ...(torch.length === 0 ? [] : [`on ${torch.join(', ')}`]),
  ];
  const refused = findings.addons.some((candidate) => candidate.refused);
  if (!refused) return check('addon', 'ok', file ?? 'loaded', { details });
  return check('addon', 'note', file ?? 'loaded', {
    details,
    fix: REFUSED_FIX.replace('BUILD', buildCommand({ checkout: findings.checkout })),
  });
}

function op(findings: Findings): Check {
  const failed = failureOf(findings, 'op');
  if (failed !== null) return failed;
  const { expected, got } = findings.probe.op!;
  if (got === expected) return check('op', 'ok', `torch.ones([2, 3]).sum() is ${got}`);
  return check('op', 'problem', `torch.ones([2, 3]).sum() is ${got}, not ${expected}`, {
    fix: 'libtorch or its BLAS computes wrong results on this machine: install another build of it.',
  });
}

/** The CPU capability by which libtorch chose its kernels, from its own report. */
function cpu(findings: Findings): Check {
  const config = findings.probe.library?.config;
  if (config === undefined) return failureOf(findings, 'library') ?? check('cpu', 'note', 'unknown');
  const usage = /CPU capability usage: (.+)/.exec(config)?.[1]?.trim();
  if (usage === undefined)
    return check('cpu', 'ok', `${counted(findings.cores, 'core')}; libtorch does not report its capability`);
  const summary = `libtorch uses ${usage} kernels on ${counted(findings.cores, 'core')}`;
  if (!/^(NO AVX|DEFAULT)$/i.test(usage) || process.arch !== 'x64') return check('cpu', 'ok', summary);
  const named = findings.variables.ATEN_CPU_CAPABILITY;
  return check('cpu', 'note', `${summary}, without vector instructions`, {
    fix:
      named === undefined
        ? 'The processor or its emulator lacks AVX2: elementwise ops are several times slower.'
        : `ATEN_CPU_CAPABILITY=${named} selects these kernels: unset it.`,
  });
}

function gpu({ libtorch: found, probe }: Findings): Check {
  const devices = probe.library?.cudaDevices ?? 0;
  if (devices > 0) return check('gpu', 'ok', counted(devices, 'CUDA device'));
  if (found?.cuda !== true) return check('gpu', 'ok', 'no CUDA device; this libtorch has no CUDA');
  return check('gpu', 'note', 'this libtorch has CUDA, but finds no CUDA device', {
    fix: "If there is a GPU, its driver is missing or older than libtorch's CUDA, or CUDA_VISIBLE_DEVICES hides it.",
  });
}

function threads(findings: Findings): Check {
  const { cores, cgroup, probe } = findings;
  const count = probe.library?.threads;
  if (count === undefined) return failureOf(findings, 'library') ?? check('threads', 'note', 'unknown');
  const usable = cgroup.cpus === null ? cores : Math.min(cores, Math.max(1, Math.floor(cgroup.cpus)));
  const quota = cgroup.cpus === null ? 'no quota' : `a quota of ${Number(cgroup.cpus.toFixed(2))}`;
  const summary = `an op uses up to ${count} of ${counted(cores, 'core')} (${quota})`;
  if (count > usable) {
    return check('threads', 'note', summary, {
      fix: `More threads than processors slow each other down: call torch.setNumThreads(${usable}) or set OMP_NUM_THREADS=${usable}.`,
    });
  }
  if (count === 1 && usable > 1) {
    return check('threads', 'note', summary, { fix: `For large tensors, call torch.setNumThreads(${usable}).` });
  }
  return check('threads', 'ok', summary);
}

/**
 * The BLAS among the loaded libraries. Debian's libblas.so.3 links to the selected one, even if another is loaded for
 * LAPACK. The reference BLAS consists of plain loops.
 */
function blasOf(libraries: string[]): { name: string; reference: boolean } | null {
  const optimized = /openblas|mkl|blis|atlas|accelerate/i;
  const file =
    libraries.find((name) => /\/lib(ref)?blas[^/]*$/.test(name)) ?? libraries.find((name) => optimized.test(name));
  if (file === undefined) return null;
  const name = file.split('/').slice(-2).join('/');
  return { name, reference: !optimized.test(file) };
}

function blas(findings: Findings): Check {
  const failed = failureOf(findings, 'blas');
  if (failed !== null) return failed;
  const { mmMicroseconds } = findings.probe.blas!;
  const found = blasOf(findings.probe.load!.libraries);
  const speed = `mm of 128×128 in ${Math.round(mmMicroseconds)} µs`;
  if (found?.reference === true) {
    return check('blas', 'problem', `${speed} with the reference BLAS (${found.name})`, {
      fix: 'Matrix products are about 20 times slower than with OpenBLAS. On Debian or Ubuntu: apt-get install libopenblas0-pthread',
    });
  }
  // 0.5 ms is 8 GFLOP/s, less than a single core of the last ten years reaches with an optimized BLAS.
  if (mmMicroseconds > 500) {
    return check('blas', 'note', `${speed}, which is slow${found === null ? '' : ` for ${found.name}`}`, {
      fix: 'The machine is busy, or libtorch has no optimized BLAS. On Debian or Ubuntu: apt-get install libopenblas0-pthread',
    });
  }
  return check('blas', 'ok', found === null ? speed : `${speed} with ${found.name}`);
}

function collector(findings: Findings): Check {
  const failed = failureOf(findings, 'collector');
  if (failed !== null) return failed;
  const { made, externalRose, alive, looped, peak } = findings.probe.collector!;
  const rose = externalRose === null ? 'an unknown size, as there is no /proc,' : formatBytes(externalRose);
  const details = [
    `external rose by ${rose} for ${made} tensors of 1 MiB; after a collection ${formatCount(alive)} ` +
      `were live; a loop over ${formatCount(looped)} of them had at most ${formatCount(peak)} live`,
  ];
  if (alive > 0) {
    return check('collector', 'problem', 'tensors are not freed during collection', {
      details,
      fix: 'This runtime does not run finalizers during collection: use torch.scope or dispose(), or a release of Node 20 or later.',
    });
  }
  if (externalRose !== null && externalRose < (made * 2 ** 20) / 2) {
    return check('collector', 'problem', 'V8 does not count the bytes of tensors, so it collects too late', {
      details,
      fix: 'This runtime ignores napi_adjust_external_memory: use torch.scope or dispose(), or a release of Node 20 or later.',
    });
  }
  const counts = externalRose === null ? 'V8' : 'V8 counts the bytes of tensors and';
  return check('collector', 'ok', `${counts} frees tensors during collection`, { details });
}

/** The limit that applies, its file, and the advice for torch.setMemoryLimit; null without a limit. */
export function limitAdvice({ cgroup, probe, physicalBytes }: Findings): { of: string; advice: LimitAdvice } | null {
  const limits = [cgroup.memory, cgroup.memoryHigh].filter((limit) => limit !== null);
  if (limits.length === 0 || probe.memory === undefined) return null;
  const { rss, heapLimit } = probe.memory;
  if (rss === null) return null;
  const least = limits.reduce((a, b) => (b.bytes < a.bytes ? b : a));
  if (least.bytes >= physicalBytes) return null; // cannot be reached
  return {
    of: least.file,
    advice: adviseLimit({ limitBytes: least.bytes, heapLimitBytes: heapLimit, baselineBytes: rss }),
  };
}

function memory(findings: Findings): Check {
  const { cgroup, physicalBytes, probe } = findings;
  const details: string[] = [];
  if (probe.memory !== undefined) {
    const { rss, heapLimit } = probe.memory;
    const start = rss === null ? '' : `; a process with libtorch starts at ${formatBytes(rss)}`;
    details.push(`V8's heap may grow to ${formatBytes(heapLimit)}${start}`);
  }
  const physical = `${formatBytes(physicalBytes)} of memory`;
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
  const heap = advice.heapMiB === null ? '' : `start node with --max-old-space-size=${advice.heapMiB} and `;
  if (!advice.fits) {
    return check('memory', 'problem', summary, {
      details,
      fix: "The limit is too low for libtorch: it must cover the memory at start, V8's heap, and the tensors. Raise the limit.",
    });
  }
  return check('memory', 'note', summary, {
    details: [
      ...details,
      'Above the limit, the kernel kills the process. torch.setMemoryLimit collects garbage first and then throws.',
    ],
    fix:
      `${heap}call torch.setMemoryLimit(${advice.bytes}) // ${formatBytes(advice.bytes)}: the limit minus V8's heap, the ` +
      'memory at start, and 5%. See docs/memory-limits.md.',
  });
}
