/** The data loader: `node data.cjs epoch|images|prefetch|delay|resume …` prints its figures as a line of JSON. */
'use strict';

const { readFileSync } = require('node:fs');
const { monitorEventLoopDelay } = require('node:perf_hooks');
const torch = require('libtorch-node');

const { DataLoader, ImageFolder, TensorDataset } = torch.utils.data;
torch.setNumThreads(Number(process.env.BENCH_THREADS ?? 1));

const now = () => performance.now();
const rss = () => 1024 * Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
const ended = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const programs = {
  /** Milliseconds of one shuffled pass over rows in memory: the best of `passes`. */
  async epoch([rows, passes]) {
    const dataset = new TensorDataset(torch.randn([rows, 16]), torch.arange(rows));
    const loader = new DataLoader(dataset, { batchSize: 64, shuffle: true });
    const taken = [];
    for (let pass = 0; pass <= passes; pass++) {
      const start = now();
      for (const batch of loader) torch.disposeAll(batch);
      taken.push(now() - start);
    }
    return { ms: Math.min(...taken.slice(1)) };
  },

  /** Pictures per second, with workers that are there already. `concurrency`: pictures of a worker at the same time. */
  async images([numWorkers, concurrency], folder) {
    const dataset = new ImageFolder(folder, { resize: 224, crop: 224, flip: 0.5, concurrency });
    const loader = new DataLoader(dataset, { batchSize: 32, numWorkers, shuffle: true });
    for await (const batch of loader) {
      torch.disposeAll(batch);
      break;
    }
    const start = now();
    let count = 0;
    for await (const [images] of loader) {
      count += images.shape[0];
      images.dispose();
    }
    const perSecond = (1000 * count) / (now() - start);
    await loader.dispose();
    return { perSecond };
  },

  /** How many bytes the process holds for batches that are read ahead, once they are. */
  async prefetch([bytes]) {
    const worker = { module: __filename, export: 'batches', args: [] };
    const make = (prefetchBytes) =>
      new DataLoader(exports.batches(), { batchSize: 4, numWorkers: 2, worker, prefetchFactor: 1000, prefetchBytes });
    /** The process after the workers have read as far as they may. */
    const filled = async (prefetchBytes) => {
      const loader = make(prefetchBytes);
      const iterator = loader[Symbol.asyncIterator]();
      torch.disposeAll((await iterator.next()).value);
      for (let last = -1, held = 0; held !== last; held = torch.memory().allocatedBytes) {
        last = held;
        await ended(300);
      }
      const figures = { rss: rss(), held: torch.memory().allocatedBytes };
      await iterator.return();
      await loader.dispose();
      return figures;
    };
    await filled(2 ** 20); // what workers cost
    const least = await filled(2 ** 20);
    const most = await filled(bytes);
    return { rss: most.rss - least.rss, held: most.held };
  },

  /** The 99th percentile of the event loop's delay in ms, while steps run in torch.run and workers read batches. */
  async delay([steps]) {
    const worker = { module: __filename, export: 'batches', args: [] };
    const loader = new DataLoader(exports.batches(), { batchSize: 4, numWorkers: 1, worker });
    const weights = torch.randn([256, 256]).mul(0.05);
    const monitor = monitorEventLoopDelay({ resolution: 1 });
    for (let step = 0; step < steps; ) {
      for await (const batch of loader) {
        const done = await torch.run(() =>
          batch.reshape([-1, 256]).slice({ end: 4096 }).matmul(weights).relu().matmul(weights).sum(),
        );
        torch.disposeAll([batch, done]);
        if (step++ === 3) monitor.enable(); // after the start of the workers
        if (step >= steps) break;
      }
    }
    monitor.disable();
    await loader.dispose();
    return { p99: monitor.percentile(99) / 1e6, max: monitor.max / 1e6 };
  },

  /** Milliseconds from a state in the middle of a shuffled pass to the first batch. */
  async resume([rows]) {
    const loader = new DataLoader({ length: rows, getItem: (index) => index }, { batchSize: 64, shuffle: true });
    const pass = loader[Symbol.iterator]();
    for (let i = 0; i < 3; i++) torch.disposeAll(pass.next().value);
    const state = loader.stateDict();
    pass.return();
    state.position = Math.floor(rows / 128);
    state.order.offset = 64 * state.position;
    const text = JSON.stringify(state);
    const other = new DataLoader({ length: rows, getItem: (index) => index }, { batchSize: 64, shuffle: true });
    const cpu = process.cpuUsage();
    const start = now();
    other.loadStateDict(JSON.parse(text));
    const next = other[Symbol.iterator]();
    torch.disposeAll(next.next().value);
    const ms = now() - start;
    const { user, system } = process.cpuUsage(cpu);
    next.return();
    return { ms, cpu: (user + system) / 1000 };
  },
};

/** 256 KiB each, made in the worker. */
exports.batches = () => ({ length: 16_000, getItem: () => torch.ones([256, 256]) });

if (require.main === module) {
  const [name, ...args] = process.argv.slice(2);
  const numbers = args.filter((arg) => /^\d+$/.test(arg)).map(Number);
  programs[name](numbers, args.at(-1)).then((figures) => process.stdout.write(`${JSON.stringify(figures)}\n`));
}
