/** libtorch-node/pprof over HTTP, decoded by an independent reader, and by `go tool pprof` where it is installed. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { handler } from 'libtorch-node/pprof';
import { Profile } from 'pprof-format';
import { run } from '../support/child';
import { codeOf, ROOT } from '../support/torch';

interface Scrape {
  status: number;
  type: string;
  tensors: number;
  bytes: number;
  profile: string;
}

interface Sample {
  frames: string[];
  objects: number;
  bytes: number;
  labels: Record<string, string>;
}

function decode({ profile }: Scrape): Sample[] {
  const {
    sample,
    stringTable,
    location,
    function: functions,
    sampleType,
    defaultSampleType,
  } = Profile.decode(gunzipSync(Buffer.from(profile, 'base64')));
  const { strings } = stringTable;
  expect(sampleType.map(({ type, unit }) => `${strings[Number(type)]}/${strings[Number(unit)]}`)).toEqual([
    'inuse_objects/count',
    'inuse_space/bytes',
  ]);
  expect(strings[Number(defaultSampleType)]).toBe('inuse_space');
  const lines = new Map(location.map(({ id, line }) => [Number(id), line[0]!]));
  const named = new Map(functions.map((one) => [Number(one.id), one]));
  return sample.map(({ locationId, value, label }) => ({
    frames: locationId.map((id) => {
      const line = lines.get(Number(id))!;
      const { name, filename } = named.get(Number(line.functionId))!;
      const file = path.basename(strings[Number(filename)]!);
      return line.line === 0 ? strings[Number(name)]! : `${strings[Number(name)]} ${file}:${line.line}`;
    }),
    objects: Number(value[0]),
    bytes: Number(value[1]),
    labels: Object.fromEntries(label.map(({ key, str }) => [strings[Number(key)], strings[Number(str)]!])),
  }));
}

const sumOf = (samples: Sample[], of: 'objects' | 'bytes') => samples.reduce((sum, sample) => sum + sample[of], 0);
const at = (samples: Sample[], frame: string) => samples.filter(({ frames }) => frames[0]!.startsWith(frame));

/** Debian's golang has it beside the compiler, and `go tool` runs it from there. */
function goTool(): string | undefined {
  const roots = fs.existsSync('/usr/lib') ? fs.readdirSync('/usr/lib').filter((name) => /^go-/.test(name)) : [];
  return roots
    .flatMap((name) => ['amd64', 'arm64'].map((arch) => `/usr/lib/${name}/pkg/tool/linux_${arch}/pprof`))
    .concat(process.env.LTN_PPROF ?? [])
    .find((file) => fs.existsSync(file));
}

let answers: any;
const tool = goTool();

beforeAll(async () => {
  const program = path.join(__dirname, 'fixtures/pprof.mjs');
  const { code, stdout, stderr } = await run(process.execPath, [program, ...(tool === undefined ? [] : [tool])]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  answers = JSON.parse(stdout);
});

test('the samples add up to torch.memory(), by line and label', () => {
  const samples = decode(answers.every);
  expect(answers.every).toMatchObject({ status: 200, type: 'application/octet-stream' });
  expect([sumOf(samples, 'objects'), sumOf(samples, 'bytes')]).toEqual([answers.every.tensors, answers.every.bytes]);
  const common = { rank: '3', instance: 'a', thread: 'main', device: 'cpu' };
  expect(at(samples, 'classify pprof.mjs:21')).toEqual([
    expect.objectContaining({ objects: 4, bytes: 40_000, labels: { ...common, route: '/classify' } }),
  ]);
  // A storage counts once, at its oldest live tensor.
  expect(at(samples, 'views pprof.mjs:26')).toEqual([
    expect.objectContaining({ objects: 1, bytes: 2000, labels: common }),
  ]);
  expect(at(samples, 'views pprof.mjs:28')).toMatchObject([{ objects: 1, bytes: 0 }]);
  expect(at(samples, '(made before the recording)')).toMatchObject([{ objects: 1, bytes: 4000 }]);
  expect(at(samples, '(tensors of other threads)')).toEqual([]);
});

test('tensors of other threads are a sample of their own', () => {
  const samples = decode(answers.worker);
  expect(sumOf(samples, 'bytes')).toBe(answers.worker.bytes);
  expect(at(samples, '(tensors of other threads)')).toEqual([
    {
      frames: ['(tensors of other threads)'],
      objects: 1,
      bytes: 12_000,
      labels: { rank: '3', instance: 'a', thread: 'other' },
    },
  ]);
});

test('a tensor whose stack was not sampled counts under a frame that says so', () => {
  const samples = decode(answers.sampled);
  expect(sumOf(samples, 'bytes')).toBe(answers.sampled.bytes);
  expect(at(samples, '(stack not recorded)')).toMatchObject([{ objects: 1, bytes: 40 }]);
});

test('other methods are refused; after stop() there is no profile', () => {
  expect(answers.post).toEqual({ status: 405, allow: 'GET, HEAD' });
  expect(answers.head).toMatchObject({ status: 200, body: 0 });
  expect(answers.head.length).toBeGreaterThan(0);
  expect(answers.stopped).toBe(503);
});

// Debian's golang-go, 300 MB, is not among the packages that the tests install.
if (tool !== undefined) {
  test('go tool pprof takes it', () => {
    expect(answers.top).toMatch(/Type: inuse_space/);
    expect(answers.top).toMatch(/\bclassify$/m);
  });
}

test('what is not the request and response of Node is refused in the call, and no failure ends the process', async () => {
  using heap = handler();
  const untyped = heap as (request?: unknown, response?: unknown) => void;
  const reply = { raw: {}, send() {} }; // of Fastify, whose `raw` is meant
  for (const args of [[], [{ method: 'GET' }], [{ method: 'GET' }, reply], [undefined, reply]]) {
    expect(codeOf(() => untyped(...args))).toBe('ERR_TORCH_ARGUMENT');
  }
  const destroyed = await new Promise<Error>((resolve) => {
    const writeHead = () => {
      throw new Error('written already');
    };
    heap({ method: 'GET' }, { headersSent: false, writeHead, end() {}, destroy: (error) => resolve(error!) });
  });
  expect(destroyed.message).toBe('written already');
});

test('invalid options', () => {
  const untyped = handler as (options: unknown) => unknown;
  for (const options of [5, { sampleBytes: -1 }, { sampleBytes: '0' }, { every: 1 }, { labels: 'a' }]) {
    expect(codeOf(() => untyped(options))).toBe('ERR_TORCH_ARGUMENT');
  }
  expect(codeOf(() => untyped({ labels: { a: 1 } }))).toBe('ERR_TORCH_ARGUMENT');
  expect(codeOf(() => untyped({ labels: { thread: 'x' } }))).toBe('ERR_TORCH_ARGUMENT');
});

test('the package exports it', () => {
  const { exports } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
  expect(exports['./pprof']).toEqual({ types: './dist/lib/pprof/index.d.ts', default: './dist/lib/pprof/index.js' });
});
