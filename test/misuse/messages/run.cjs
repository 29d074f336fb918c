/**
 * Makes each mistake of the tables in this folder, and prints one line of JSON per mistake to stdout. With --write it
 * writes the messages of this libtorch into the tables instead, for review.
 *
 * A table has a line of JavaScript for each mistake, and below it, indented, the code and the first line of its message.
 * libtorch's own messages differ between releases: "1.13,2.6  CODE  message" is only for those two; on a release without a
 * line, only the general rules of messages.test.ts apply.
 */
'use strict';
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { isDeepStrictEqual } = require('node:util');

const { release } = process.env;
/** The codes of libtorch's own messages. */
const OF_LIBTORCH = /^ERR_TORCH_(RUNTIME|INDEX|VALUE|TYPE|NOT_IMPLEMENTED|LINALG)$/;
const LINE = /^ {2}(?:(\d+\.\d+(?:,\d+\.\d+)*) {2})?(\S+) {2}(.*)$/;

/** The blocks of a table: comments and mistakes with their expected messages, by release or '' for all. */
function readTable(file) {
  const blocks = [];
  for (const line of fs.readFileSync(file, 'utf8').trimEnd().split('\n')) {
    const expected = LINE.exec(line);
    if (expected !== null) {
      const [, releases = '', code, message] = expected;
      for (const of of releases.split(',')) blocks.at(-1).expected[of] = { code, message };
    } else if (line === '' || line.startsWith('# ')) blocks.push({ comment: line });
    else blocks.push({ mistake: line, expected: {} });
  }
  return blocks;
}

/** One line for releases with the same message. */
function linesOf(expected) {
  const releases = new Map();
  for (const [of, { code, message }] of Object.entries(expected)) {
    const told = `${code}  ${message}`;
    releases.set(told, [...(releases.get(told) ?? []), of]);
  }
  return [...releases].map(([told, of]) => `  ${of.join() === '' ? '' : `${of.join()}  `}${told}`);
}

function writeTable(file, blocks) {
  const lines = blocks.flatMap((block) => block.comment ?? [block.mistake, ...linesOf(block.expected)]);
  fs.writeFileSync(file, `${lines.join('\n')}\n`);
}

const tables = () =>
  fs
    .readdirSync(__dirname)
    .filter((name) => name.endsWith('.txt'))
    .sort();

const library = process.env.LIBRARY ?? path.resolve(__dirname, '../../../dist/lib/index.js');

const AsyncFunction = (async () => {}).constructor;

/** The names that a mistake may use. */
function things(torch, dir) {
  return {
    torch,
    F: torch.nn.functional,
    x: torch.ones([2, 3]),
    i: torch.tensor([0n, 1n]),
    w: torch.ones([2, 3], { requiresGrad: true }),
    img: torch.ones([1, 1, 8, 8]),
    kernel: torch.ones([1, 1, 3, 3]),
    dir,
    fs,
    path,
    vm: require('node:vm'),
    metrics: require(path.join(path.dirname(library), 'metrics/index.js')),
    testing: require(path.join(path.dirname(library), 'testing/index.js')),
  };
}

/** The statements before the last `;` are preparation, the rest is the mistake. */
async function outcome(mistake, torch, dir) {
  const names = things(torch, dir);
  const at = mistake.lastIndexOf('; ') + 1;
  const body = `'use strict'; ${mistake.slice(0, at)} return (${mistake.slice(at)}\n);`;
  try {
    const value = await new AsyncFunction(...Object.keys(names), body)(...Object.values(names));
    return { code: 'none', message: `gave ${typeof value}` };
  } catch (error) {
    const message = String(error.message)
      .split('\n')[0]
      .replaceAll(dir, '<dir>')
      .replace(/[0-9a-f]{18}(?=\.partial)/, '<random>')
      .replace(/holds \d+ bytes/, 'holds <n> bytes');
    return { code: typeof error.code === 'string' ? error.code : error.name, message };
  } finally {
    torch.setMemoryLimit(null);
    if (torch.isGradEnabled() === false) torch.setGradEnabled(true);
  }
}

async function main(write) {
  const torch = require(library);
  const own = release ?? torch.libtorchVersion.split('.').slice(0, 2).join('.');
  const hasCuda = /USE_CUDA=(ON|1)/.test(torch.showConfig());
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'mistakes-'));
  process.on('exit', () => fs.rmSync(dir, { recursive: true, force: true }));
  for (const table of tables()) {
    const file = path.join(__dirname, table);
    const blocks = readTable(file);
    for (const block of blocks) {
      if (block.mistake === undefined || (hasCuda && block.expected['']?.code === 'ERR_TORCH_CUDA')) continue;
      const got = await outcome(block.mistake, torch, dir);
      // A message of the library itself may have a code of libtorch's: the table then has it for all releases.
      const isForAll = !OF_LIBTORCH.test(got.code) || isDeepStrictEqual(block.expected[''], got);
      if (!write) console.log(JSON.stringify({ table, release: own, ...block, got }));
      else block.expected[isForAll ? '' : own] = got;
    }
    if (write) writeTable(file, blocks);
  }
}

main(process.argv[2] === '--write');
