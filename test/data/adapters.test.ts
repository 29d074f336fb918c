/** The adapters with the real libraries (programs/adapters.mjs), in one process; and what they say without a library. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { run } from '../support/child';
import { limitMs } from '../support/sanitized';
import { LIB } from '../support/torch';

jest.setTimeout(limitMs(120_000));

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'adapters-'));
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

let answers: Record<string, { answer: any; left: Record<string, number> }> = {};
beforeAll(async () => {
  const program = path.join(__dirname, 'programs/adapters.mjs');
  const { code, stdout, stderr } = await run(process.execPath, ['--expose-gc', program, folder]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  answers = JSON.parse(stdout);
});

const aborted = ['Error: enough', 'Error: enough'];
const used = { same: true, continued: true, aborted };
const batches = (answer: any, name: string) =>
  answer.whole.flatMap((batch: any) => (Array.isArray(batch[name]) ? batch[name] : batch[name].values));

test.each(['images', 'arrow', 'parquet', 'records', 'shards', 'tokens'])('%s leave no tensor, byte or file', (name) => {
  expect(answers[name]!.left).toEqual({ tensors: 0, bytes: 0, files: 0 });
});

test('images: folders are classes; sharp resizes, crops and flips, the same in workers', () => {
  const { answer } = answers.images!;
  expect(answer).toMatchObject({ ...used, classes: ['cats', 'dogs'], sizes: [6, 3, 8, 12] });
  expect(answer.whole.flatMap(([, labels]: any) => labels.values)).toEqual([0, 0, 0, 1, 1, 1]);
  expect(answer.whole[0][0]).toMatchObject({ dtype: 'uint8', shape: [2, 3, 4, 4] });
  // Crops at several places, some of them flipped: rows that ascend and rows that descend.
  const firsts = answer.whole.flatMap(([images]: any) => [images.values.slice(0, 4), images.values.slice(48, 52)]);
  const ascends = firsts.map((row: number[]) => row[0]! < row[3]!);
  expect(new Set(ascends).size).toBe(2);
  expect(answer.shapes).toEqual([
    [1, 8, 12],
    [3, 2, 3],
  ]);
  expect(answer.unlabelled).toMatchObject({ dtype: 'uint8', shape: [3, 1, 1] });
  expect(answer.missing).toMatch(/Input file is missing/);
  expect(answer.small).toMatch(/^ERR_TORCH_ARGUMENT: .* at least 99 × 99 for the crop, got 8 × 12/);
  expect(answer.range).toMatch(/^ERR_TORCH_INDEX: .* from -6 to 5, got 6/);
});

test('images: concurrency bounds how many images are decoded at the same time', () => {
  const { answer } = answers.images!;
  expect(answer).toMatchObject({ atOnce: [6, 1, 2], equal: true, inWorkers: true });
  expect(answer.unread).toEqual([expect.stringMatching(/file is missing/), expect.stringMatching(/file is missing/)]);
  // sharp's words tell that a small file was read before, and a large one was not.
  expect(answer.damaged).toEqual([
    expect.stringMatching(/^ERR_TORCH_FILE: .*little\.png: Input buffer/),
    expect.stringMatching(/^ERR_TORCH_FILE: .*large\.png: Input file/),
  ]);
  expect(answer.found).toMatchObject({
    code: 'ERR_TORCH_DATA',
    index: 3,
    message: expect.stringMatching(/little\.png/),
  });
  expect(answer.lanes).toMatch(
    /^ERR_TORCH_ARGUMENT: .* 'concurrency': expected an integer above 0, or Infinity, got 0/,
  );
});

test('arrow: columns share the memory of the table; nulls are refused', () => {
  const { answer } = answers.arrow!;
  expect(answer).toMatchObject({ ...used, shares: 10 });
  expect(batches(answer, 'n')).toEqual([1, 2, 3, 4, 5]);
  expect(batches(answer, 's')).toEqual(['a', 'b', 'a', 'c', 'd']);
  expect(answer.listed).toEqual({
    pairs: { dtype: 'float32', shape: [2, 2], values: [1, 2, 3, 4] },
    yes: { dtype: 'bool', shape: [2], values: [true, false] },
  });
  expect(answer.none).toEqual({
    pairs: { dtype: 'float32', shape: [0, 2], values: [] },
    yes: { dtype: 'bool', shape: [0], values: [] },
  });
  expect(answer.proto).toEqual([['__proto__'], true]);
  expect(answer.nulls).toMatch(/^ERR_TORCH_FILE: .* column 'x' has 1 nulls/);
  expect(answer.unknown).toMatch(/names from x, n, s, got 'z'/);
});

test('parquet: rows over files and row groups, and a range of rows as columns', () => {
  const { answer } = answers.parquet!;
  expect(answer).toMatchObject(used);
  expect(batches(answer, 'id')).toEqual([0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6]);
  expect(answer.part).toEqual({ word: ['w2', 'w3', 'w4'], id: { dtype: 'int64', shape: [3], values: [2, 3, 4] } });
  expect(answer.unknown).toMatch(/names from id, x, word, got 'z'/);
  expect(answer.missing).toMatch(/^ENOENT/);
  // The library gives lists for columns that may have nulls: the schema tells the dtype.
  expect(answer.optional).toEqual({ INT32: 'int32', DOUBLE: 'float64', FLOAT: 'float32', INT64: 'int64' });
  expect(answer.first).toBe(2 ** 24 + 1);
  // Without rows the schema tells which columns are tensors.
  const [x, yes] = ['float64', 'bool'].map((dtype) => ({ dtype, shape: [0], values: [] }));
  expect(answer.none).toEqual([1, 2].map(() => ({ x, yes, word: [] })));
  expect(answer.dates).toMatch(
    /^ERR_TORCH_FILE: .* 'when': expected numbers, .* lists of numbers, got a Date in row 0/,
  );
  expect(answer.damaged).toMatch(/^ERR_TORCH_FILE: /);
  expect(answer.negative).toMatch(
    /^ERR_TORCH_ARGUMENT: .* 'options\.rowStart': expected an integer of 0 or more, got -1/,
  );
  expect(answer.notNames).toMatch(/^ERR_TORCH_ARGUMENT: .* 'options\.columns': expected a list of names, got 'x'/);
});

test('records: lines of JSON and streams, which are closed however the loop ends', () => {
  const { answer } = answers.records!;
  expect(answer).toMatchObject({ ...used, stream: used });
  expect(batches(answer, 'x')).toEqual([1, 2, 3, 4, 4, 4]);
  expect(batches(answer, 't')).toEqual(['é', 'b', 'c', 'd', 'd', 'd']);
  expect(answer.ended).toBe(answer.opened);
  expect(answer.stalledCloses).toBe(true);
  expect(answer.wrong).toMatch(/^ERR_TORCH_FILE: .*wrong\.jsonl, byte 9: expected a line of JSON/);
  expect(answer.latin1).toMatch(/^ERR_TORCH_FILE: .*latin1\.jsonl, byte 9: expected a line of UTF-8/);
});

test('shards: rows of several files in one batch, in the order that was asked for', () => {
  for (const kind of ['safetensors', 'npz']) {
    const answer = answers.shards!.answer[kind];
    expect(answer).toMatchObject(used);
    expect(batches(answer, 'y')).toEqual(Array.from({ length: 12 }, (_, i) => 10 * i));
    expect(answer.mixed.x.values).toEqual([9, 0, 5, 8, 1, 11]);
    expect(answer.range).toMatch(/^ERR_TORCH_INDEX: .* from -12 to 11, got 12/);
  }
  expect(answers.shards!.answer.differs).toMatch(/^ERR_TORCH_FILE: .* rows of float32 \[\] in 'x', got float64 \[\]/);
  for (const name of ['damaged.safetensors', 'damaged.npz']) {
    expect(answers.shards!.answer[name]).toMatch(
      new RegExp(`^ERR_TORCH_FILE: utils\\.data\\.ShardDataset: .*/${name}: `),
    );
  }
  expect(answers.shards!.answer.lacks).toMatch(/^ERR_TORCH_FILE: .* has no tensor 'z'/);
});

test('tokens: padded batches of texts, and blocks with the next tokens', () => {
  const { answer } = answers.tokens!;
  const [{ inputIds, attentionMask }] = answer.batches;
  expect(inputIds).toEqual({ dtype: 'int64', shape: [3, 4], values: [2, 3, 4, 0, 3, 0, 0, 0, 2, 1, 4, 2] });
  expect(attentionMask.values).toEqual([1, 1, 1, 0, 1, 0, 0, 0, 1, 1, 1, 1]);
  expect(answer.decoded).toBe('the cat');
  expect(answer.blocks).toMatchObject(used);
  expect(answer.blocks.whole[0].map((part: any) => part.values)).toEqual([
    [0, 1, 2, 3, 4, 5],
    [1, 2, 3, 4, 5, 6],
  ]);
  expect(answer.unknown).toMatch(/^ERR_TORCH_ARGUMENT: .* 'texts\[0\]': expected a text whose tokens all have an id/);
  expect(answer.short).toMatch(/one row of more than 3 tokens/);
});

test('without its library each names the package to install', async () => {
  const program = `
    const Module = require('node:module');
    const resolve = Module._resolveFilename;
    const peers = ['sharp', 'apache-arrow', 'hyparquet', '@huggingface/tokenizers', 'cli-progress'];
    Module._resolveFilename = function (name, ...rest) {
      if (peers.includes(name)) throw Object.assign(new Error('hidden'), { code: 'MODULE_NOT_FOUND' });
      return resolve.call(this, name, ...rest);
    };
    const torch = require(${JSON.stringify(`${LIB}/index.js`)});
    const { data, Progress } = torch.utils;
    const calls = {
      sharp: () => data.decodeImage('a.png'),
      'apache-arrow': () => data.readArrow(new Uint8Array(8)),
      hyparquet: () => data.readParquet('a.parquet'),
      '@huggingface/tokenizers': () => data.loadTokenizer('.'),
      'cli-progress': () => new Progress({ output: { isTTY: true, write() {} } }),
    };
    (async () => {
      for (const [name, call] of Object.entries(calls)) {
        const error = await (async () => call())().catch((error) => error);
        if (error.code !== 'ERR_TORCH_MISSING_PACKAGE' || !error.message.endsWith('npm install ' + name)) throw error;
      }
      console.log('named');
    })();
  `;
  const { code, stdout, stderr } = await run(process.execPath, ['-e', program]);
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'named\n', stderr: '' });
});
