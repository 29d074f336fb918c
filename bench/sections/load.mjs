/** The time to load the library, beyond starting Node, compared with libtorch alone and with PyTorch's import. */
import { findLibtorch } from '../../scripts/libtorch.mjs';
import { step } from '../../scripts/steps/progress.mjs';
import { output } from '../support/child.mjs';
import { integer, none, range, table, times } from '../support/markdown.mjs';
import { median, noise, quartiles, summarise } from '../support/stats.mjs';

/** What a program prints last, if it is of Node. */
const ENDING = `; const { user, system } = process.cpuUsage();
  console.log(JSON.stringify({ cpu: (user + system) / 1e3, rss: process.memoryUsage.rss() }))`;

/** libtorch's libraries, loaded as addons are, without any of ours. Node reports that they are not addons, but keeps them loaded. */
const alone = (files) => `
  const lazyAndKept = require('node:os').constants.dlopen.RTLD_LAZY | 0x1000;
  for (const file of ${JSON.stringify(files)}) {
    try { process.dlopen({ exports: {} }, file, lazyAndKept); } catch (error) {
      if (!/self-register/.test(error.message)) throw error;
    }
  }`;

async function measured(command) {
  const start = performance.now();
  const text = await output(command);
  const wall = performance.now() - start;
  return { wall, ...(text.trim() === '' ? {} : JSON.parse(text)) };
}

/** @param {number} loads @param {Record<string, string[]>} commands @returns {Promise<Record<string, any[]>>} */
async function measure(loads, commands) {
  const taken = Object.fromEntries(Object.keys(commands).map((name) => [name, []]));
  // The first round fills the file cache and is not counted.
  for (let round = -1; round < loads; round++) {
    for (const [name, command] of Object.entries(commands)) {
      const figures = await measured(command);
      if (round >= 0) taken[name].push(figures);
    }
  }
  return taken;
}

/**
 * @param {import('../plan.mjs').Plan} plan
 * @param {import('../measured.mjs').Measured} _measured
 * @param {string | undefined} python
 */
export async function loadSection({ loads }, _measured, python) {
  const node = (source) => [process.execPath, '-e', `${source}${ENDING}`];
  const rows = {
    library: ["`require('libtorch-node')`", 'node'],
    libtorch: ['libtorch alone, in Node', 'node'],
    ...(python === undefined ? {} : { python: ['`import torch`', 'bare python'] }),
  };
  const { torch_cpu, c10, ...others } = findLibtorch().files;
  const commands = {
    node: node(''),
    library: node("require('libtorch-node')"),
    libtorch: node(alone([c10, torch_cpu, ...Object.values(others)])),
    ...(python === undefined ? {} : { 'bare python': [python, '-c', '0'], python: [python, '-c', 'import torch'] }),
  };
  const taken = await step('load time', () => measure(loads, commands));
  const walls = (name) => taken[name].map(({ wall }) => wall);
  const cells = Object.entries(rows).map(([name, [title, bare]]) => {
    const own = walls(name).map((value, round) => value - walls(bare)[round]);
    const { cpu, rss } = taken[name][0];
    return [
      title,
      integer(median(own)),
      range(summarise(walls(name))),
      range(summarise(walls(bare))),
      cpu === undefined ? none : range(summarise(taken[name].map((one) => one.cpu))),
      rss === undefined ? none : `${integer(median(taken[name].map((one) => one.rss)) / 1e6)} MB`,
    ];
  });
  const ratios = taken.library.map(({ cpu }, round) => cpu / taken.libtorch[round].cpu);
  const [low, middle, high] = quartiles(ratios);
  return [
    '## Load time',
    `Milliseconds, medians (min–max) of ${loads} loads, all programs in turn, with the files in the cache. "libtorch alone" loads its ` +
      'libraries into Node, and nothing else. CPU time and RSS are of the whole process.',
    table(['', 'Own', 'Whole process', 'Bare process', 'in CPU time', 'RSS'], cells),
    `\`require('libtorch-node')\` takes ${times(middle)} (${low.toFixed(2)}–${high.toFixed(2)}) the CPU time of libtorch alone, the ` +
      'median of the ratios within a round; goal: at most 1.15×.',
    noise(Object.entries(rows).map(([name, [title]]) => [title, summarise(walls(name))])),
  ].join('\n\n');
}
