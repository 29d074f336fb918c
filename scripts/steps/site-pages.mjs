/** The pages of the site beside the API: each guide, by group, in the order of the menu. */
export const groups = {
  'First steps': [
    'installing',
    'libtorch-package',
    'from-pytorch',
    'from-tfjs',
    'comparison',
    'benchmarks',
    'types',
    'errors',
  ],
  Tensors: ['lifetimes', 'autograd', 'async', 'capture', 'threads', 'files', 'cuda'],
  Training: ['training', 'data', 'optim', 'distributed', 'data-parallel'],
  Serving: ['serving', 'models', 'memory-limits', 'metrics', 'reliability', 'runtimes'],
  'Finding leaks': ['leak-audit', 'leak-hunt', 'testing', 'pprof', 'tensor-logger', 'verdicts', 'capture-format'],
  'The project': ['matrix', 'releasing', 'threat-model'],
};

export const pages = Object.entries(groups).flatMap(([group, names]) => names.map((name) => ({ group, name })));
