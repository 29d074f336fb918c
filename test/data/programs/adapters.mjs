/**
 * Uses the adapters with the real libraries, in a process of its own: Jest cannot import hyparquet, which is only an ES module.
 * `node adapters.mjs FOLDER` prints, by name, what each gave, and the tensors, bytes and open files that it left.
 */
import { mkdirSync, readdirSync, readFileSync, readlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { Field, FixedSizeList, Float32, Table, tableFromArrays, tableToIPC, vectorFromArray } from 'apache-arrow';
import { parquetWriteFile } from 'hyparquet-writer';
import torch from 'libtorch-node';
import sharp from 'sharp';

const folder = process.argv[2];
const at = (name) => join(folder, name);
const { data } = torch.utils;

/** A copy of a value without tensors. */
function plain(value) {
  if (value instanceof torch.Tensor)
    return { dtype: value.dtype, shape: value.shape, values: plain(value.flatten().toArray()) };
  if (typeof value === 'bigint') return `${value}n`;
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
}

const codeOf = async (run) => {
  try {
    await run();
  } catch (error) {
    return `${error.code ?? error.name}: ${error.message}`;
  }
  return 'no error';
};

/** All batches of a loader, or those before `most`; their memory is freed. */
async function read(loader, most = Number.POSITIVE_INFINITY) {
  const seen = [];
  for await (const batch of loader) {
    seen.push(plain(batch));
    torch.disposeAll(batch);
    if (seen.length === most) break;
  }
  await loader.dispose();
  return seen;
}

/** A loop that a signal ends in its second batch. */
async function aborted(dataset, numWorkers = 0) {
  const controller = new AbortController();
  const loader = new data.DataLoader(dataset, { batchSize: 2, numWorkers, signal: controller.signal });
  const code = await codeOf(async () => {
    for await (const batch of loader) {
      torch.disposeAll(batch);
      controller.abort(new Error('enough'));
    }
  });
  await loader[Symbol.asyncDispose]();
  return code;
}

/** Whole, in workers, ended early, aborted, and continued from a state. */
async function uses(dataset, numWorkers = 1) {
  const seeded = () => new torch.Generator().manualSeed(4);
  const make = (workers) => new data.DataLoader(dataset, { batchSize: 2, numWorkers: workers, generator: seeded() });
  const whole = await read(make(0));
  const first = make(0);
  const begun = await read(first, 1);
  const second = make(0);
  second.loadStateDict(JSON.parse(JSON.stringify(first.stateDict())));
  return {
    whole,
    same: numWorkers === 0 || JSON.stringify(await read(make(numWorkers))) === JSON.stringify(whole),
    continued: JSON.stringify([...begun, ...(await read(second))]) === JSON.stringify(whole),
    aborted: [await aborted(dataset), numWorkers === 0 ? 'Error: enough' : await aborted(dataset, numWorkers)],
  };
}

const openFiles = () =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder);
    } catch {
      return false; // the descriptor of the listing itself
    }
  }).length;

/** Counts how many pictures are decoded at most at the same time. */
class Counted extends data.ImageDataset {
  running = 0;
  most = 0;

  async getItem(index, context) {
    this.most = Math.max(this.most, ++this.running);
    try {
      return await super.getItem(index, context);
    } finally {
      this.running--;
    }
  }
}

async function decodedBy(files, concurrency) {
  const dataset = new Counted(files, { concurrency });
  const whole = await read(new data.DataLoader(dataset, { batchSize: 6 }));
  return { most: dataset.most, whole };
}

const tests = {
  async images() {
    for (const [name, grey] of [
      ['cats', 40],
      ['dogs', 200],
    ]) {
      mkdirSync(at(`pictures/${name}`), { recursive: true });
      for (let i = 0; i < 3; i++) {
        const pixels = Uint8Array.from({ length: 12 * 8 * 3 }, (_, k) => grey + 10 * i + (k % 36) / 3);
        const file = at(`pictures/${name}/${i}.png`);
        await sharp(pixels, { raw: { width: 12, height: 8, channels: 3 } })
          .png()
          .toFile(file);
      }
    }
    const root = pathToFileURL(at('pictures/'));
    const folders = new data.ImageFolder(root, { resize: 6, crop: 4, cropAt: 'random', flip: 0.5 });
    const exact = await data.decodeImage(folders.files[0], { channels: 1 });
    const small = await data.decodeImage(folders.files[0], { resize: [2, 3] });
    const shapes = [exact.shape, small.shape];
    const one = new data.ImageFolder(root, { crop: 4, concurrency: 1 });
    const decoded = [];
    for (const concurrency of [undefined, 1, 2]) decoded.push(await decodedBy(folders.files, concurrency));
    const unread = new data.ImageDataset([at('none.png'), ...one.files], { crop: 4, concurrency: 1 });
    const corner = small.select(1, 0).select(1, 0);
    const [little, large] = [at('little.png'), at('large.png')];
    for (const file of [little, large]) writeFileSync(file, 'not a picture');
    truncateSync(large, 2 ** 24 + 1);
    const damaged = [little, large].map((file) => codeOf(() => data.decodeImage(file)));
    const broken = [...one.files.slice(0, 3), little];
    const inWorker = new data.DataLoader(new data.ImageDataset(broken, { crop: 4 }), { batchSize: 4, numWorkers: 1 });
    const found = await read(inWorker).catch(({ code, index, message }) => ({ code, index, message }));
    await inWorker.dispose();
    const answer = {
      ...(await uses(folders)),
      found,
      classes: folders.classes,
      shapes,
      corner: plain(corner).values,
      unlabelled: plain(await data.decodeImage(folders.files[4], { crop: 1 })),
      sizes: (await read(new data.DataLoader(new data.ImageDataset(folders.files), { batchSize: 6 })))[0].shape,
      missing: await codeOf(() => new data.ImageDataset([at('none.png')], { crop: 1 }).getItem(0)),
      small: await codeOf(() => new data.ImageDataset(folders.files, { crop: 99 }).getItem(0)),
      range: await codeOf(() => new data.ImageDataset(folders.files).getItem(6)),
      atOnce: decoded.map(({ most }) => most),
      equal: decoded.every(({ whole }) => JSON.stringify(whole) === JSON.stringify(decoded[0].whole)),
      inWorkers: (await uses(one, 2)).same,
      unread: [await codeOf(() => unread.getItems([0, 1, 2])), await codeOf(() => unread.getItems([2, 1, 0]))],
      damaged: await Promise.all(damaged),
      lanes: await codeOf(() => new data.ImageFolder(root, { concurrency: 0 })),
    };
    torch.disposeAll([exact, small, corner]);
    return answer;
  },
  async arrow() {
    const table = tableFromArrays({
      x: Float32Array.of(1, 2, 3, 4, 5),
      n: BigInt64Array.of(1n, 2n, 3n, 4n, 5n),
      s: ['a', 'b', 'a', 'c', 'd'],
    });
    writeFileSync(at('table.arrow'), tableToIPC(table, 'file'));
    const columns = data.readArrow(at('table.arrow'));
    const pairs = vectorFromArray(
      [
        [1, 2],
        [3, 4],
      ],
      new FixedSizeList(2, new Field('item', new Float32())),
    );
    const others = new Table({ pairs, yes: vectorFromArray([true, false]) });
    const listed = data.readArrow(others);
    const named = data.readArrow(new Table({ ['__proto__']: vectorFromArray(Int32Array.of(7)) }));
    const none = data.readArrow(others.slice(0, 0));
    const shared = data.readArrow(table, { columns: ['x'] });
    shared.x.mul_(2);
    const answer = {
      ...(await uses(new data.TableDataset(columns))),
      listed: plain(listed),
      none: plain(none),
      proto: [Object.keys(named), Object.getPrototypeOf(named) === Object.prototype],
      shares: table.getChild('x').get(4),
      nulls: await codeOf(() => data.readArrow(new Table({ x: vectorFromArray([1, null]) }))),
      unknown: await codeOf(() => data.readArrow(table, { columns: ['z'] })),
    };
    torch.disposeAll([columns, listed, none, shared, Object.values(named)]);
    return answer;
  },
  async parquet() {
    const rows = 7;
    const numbers = Array.from({ length: rows }, (_, i) => i);
    const columnData = [
      { name: 'id', data: BigInt64Array.from(numbers, BigInt), type: 'INT64' },
      { name: 'x', data: Float64Array.from(numbers, (i) => i / 2), type: 'DOUBLE' },
      { name: 'word', data: numbers.map((i) => `w${i}`), type: 'STRING' },
    ];
    for (const name of ['one', 'two'])
      parquetWriteFile({ filename: at(`${name}.parquet`), columnData, rowGroupSize: 3 });
    const nullable = [
      ['INT32', [2 ** 24 + 1, 2]],
      ['DOUBLE', [0.1, 0.2]],
      ['FLOAT', [0.5, 1]],
      ['INT64', [2n ** 60n, 1n]],
    ].map(([type, values]) => ({ name: type, data: values, type, nullable: true }));
    parquetWriteFile({ filename: at('nullable.parquet'), columnData: nullable });
    writeFileSync(at('damaged.parquet'), readFileSync(at('nullable.parquet')).subarray(8));
    const optional = await data.readParquet(at('nullable.parquet'));
    const columnsOf = (values) => [
      { name: 'x', data: values(0.5), type: 'DOUBLE' },
      { name: 'yes', data: values(true), type: 'BOOLEAN' },
      { name: 'word', data: values('a'), type: 'STRING' },
    ];
    parquetWriteFile({ filename: at('none.parquet'), columnData: columnsOf(() => []) });
    parquetWriteFile({ filename: at('some.parquet'), columnData: columnsOf((value) => [value]) });
    const none = await data.readParquet(at('none.parquet'));
    const noRows = await data.readParquet(at('some.parquet'), { rowStart: 1 });
    const dates = [{ name: 'when', data: [new Date(0)], type: 'TIMESTAMP' }];
    parquetWriteFile({ filename: at('dates.parquet'), columnData: dates });
    const part = await data.readParquet(at('one.parquet'), { columns: ['word', 'id'], rowStart: 2, rowEnd: 5 });
    const answer = {
      ...(await uses(new data.ParquetRows([at('one.parquet'), at('two.parquet')], { columns: ['id', 'word'] }))),
      part: plain(part),
      unknown: await codeOf(() => data.readParquet(at('one.parquet'), { columns: ['z'] })),
      missing: await codeOf(() => data.readParquet(at('missing.parquet'))),
      none: [plain(none), plain(noRows)],
      dates: await codeOf(() => data.readParquet(at('dates.parquet'))),
      optional: Object.fromEntries(Object.entries(optional).map(([type, { dtype }]) => [type, dtype])),
      first: Number(optional.INT32.select(0, 0).item()),
      damaged: await codeOf(() => data.readParquet(at('damaged.parquet'))),
      negative: await codeOf(() => data.readParquet(at('one.parquet'), { rowStart: -1 })),
      notNames: await codeOf(() => data.readParquet(at('one.parquet'), { columns: 'x' })),
    };
    torch.disposeAll([part, optional, none, noRows]);
    return answer;
  },
  async records() {
    writeFileSync(at('a.jsonl'), '{"x": 1, "t": "é"}\n\n{"x": 2, "t": "b"}\r\n{"x": 3, "t": "c"}');
    writeFileSync(at('b.jsonl'), `${'{"x": 4, "t": "d"}\n'.repeat(3)}`);
    writeFileSync(at('wrong.jsonl'), '{"x": 1}\n{"x": \n');
    writeFileSync(at('latin1.jsonl'), Buffer.from('{"x": 1}\n{"x": "\xe9"}\n', 'latin1'));
    const lines = new data.JsonLines([at('a.jsonl'), at('b.jsonl')]);
    let [opened, ended] = [0, 0];
    const stream = new data.StreamDataset(() => {
      opened++;
      return Readable.from([1, 2, 3, 4, 5]).on('close', () => ended++);
    });
    const streamed = await uses(stream, 0);
    await new Promise(setImmediate); // 'close' comes in a later turn
    const closed = new Promise((resolve) => {
      const controller = new AbortController();
      const stalls = () => void setImmediate(() => controller.abort());
      const stalled = new data.StreamDataset(() => new Readable({ read: stalls }).on('close', () => resolve(true)));
      read(new data.DataLoader(stalled, { signal: controller.signal })).catch(() => {}); // its end is what counts
    });
    return {
      ...(await uses(lines)),
      stream: streamed,
      stalledCloses: await closed,
      opened,
      ended,
      wrong: await codeOf(() => read(new data.DataLoader(new data.JsonLines(at('wrong.jsonl'))))),
      latin1: await codeOf(() => read(new data.DataLoader(new data.JsonLines(at('latin1.jsonl'))))),
      cursor: lines.stateDict(),
    };
  },
  async shards() {
    for (let i = 0; i < 3; i++) {
      torch.scope(() => {
        const x = torch.arange(4 * i, 4 * i + 4, { dtype: 'float32' });
        torch.safetensors.save({ x, y: x.mul(10), other: x }, at(`${i}.safetensors`));
        torch.npz.save({ x, y: x.mul(10) }, at(`${i}.npz`));
      });
    }
    const answers = {};
    for (const kind of ['safetensors', 'npz']) {
      const files = [0, 1, 2].map((i) => at(`${i}.${kind}`));
      const shards = new data.ShardDataset(files, { columns: ['x', 'y'], maxOpen: 2 });
      const mixed = torch.scope(() => plain(shards.getItems([9, 0, 5, 8, 1, -1])));
      answers[kind] = { ...(await uses(shards)), mixed, range: await codeOf(() => shards.getItem(12)) };
      shards.dispose();
    }
    torch.scope(() => torch.safetensors.save({ x: torch.zeros([2], { dtype: 'float64' }) }, at('wide.safetensors')));
    const differing = [at('0.safetensors'), at('wide.safetensors')];
    answers.differs = await codeOf(() => new data.ShardDataset(differing, { columns: ['x'] }));
    for (const name of ['damaged.safetensors', 'damaged.npz']) {
      writeFileSync(at(name), 'damaged');
      answers[name] = await codeOf(() => new data.ShardDataset([at('0.npz'), at(name)], { columns: ['x'] }));
    }
    answers.lacks = await codeOf(() => new data.ShardDataset([at('0.npz')], { columns: ['z'] }));
    return answers;
  },
  async tokens() {
    const vocab = { '[PAD]': 0, '[UNK]': 1, the: 2, cat: 3, sat: 4 };
    const model = { type: 'WordLevel', vocab, unk_token: '[UNK]' };
    const tokenizer = {
      version: '1.0',
      added_tokens: [],
      normalizer: null,
      pre_tokenizer: { type: 'Whitespace' },
      post_processor: null,
      decoder: null,
      model,
    };
    mkdirSync(at('model'));
    writeFileSync(at('model/tokenizer.json'), JSON.stringify(tokenizer));
    writeFileSync(at('model/tokenizer_config.json'), JSON.stringify({ unk_token: '[UNK]' }));
    const loaded = await data.loadTokenizer(at('model'));
    const texts = ['the cat sat', 'cat', 'the dog sat the cat'];
    const collateFn = data.tokenCollate(loaded, { maxLength: 4 });
    const blocks = new data.TokenBlocks([0, 1, 2, 3, 4, 5, 6, 7], 3);
    const answer = {
      batches: await read(new data.DataLoader(texts, { batchSize: 3, collateFn })),
      unknown: await codeOf(() => data.tokenCollate({ encode: () => ({ ids: [1, undefined] }) })(['x'])),
      decoded: loaded.decode([2, 3]),
      blocks: await uses(blocks),
      short: await codeOf(() => new data.TokenBlocks([1], 3)),
    };
    blocks.tokens.dispose();
    return answer;
  },
};

const counts = () => {
  const { tensors, bytes } = torch.memory();
  return { tensors, bytes, files: openFiles() };
};
const answers = {};
for (const [name, run] of Object.entries(tests)) {
  const before = counts();
  const answer = plain(await run());
  // A turn of the event loop may still hold the last object.
  for (let turn = 0; turn < 200 && counts().tensors > before.tensors; turn++) {
    globalThis.gc();
    await new Promise(setImmediate);
  }
  const after = counts();
  const left = Object.fromEntries(Object.keys(after).map((key) => [key, after[key] - before[key]]));
  answers[name] = { answer, left };
}
console.log(JSON.stringify(answers));
