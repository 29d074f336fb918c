/** Two example services, one with its model in the process and one with workers: good and hostile requests, models that change. */
'use strict';

const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');

const ROOT = path.resolve(__dirname, '../..');
const PIXELS = 28 * 28;
/** Of test/service/models.py's "reader" and "other": a weight [10, 784] and ten biases, which are float32. */
const MODEL_BYTES = 4 * (10 * PIXELS + 10);
/** A model is a token, in a slot without elements. */
const MODEL_TENSORS = 1;

/** A folder with models of test/service/models.py. */
function makeModels() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ltn-soak-models-'));
  execFileSync('/usr/bin/python3', [path.join(ROOT, 'test/service/models.py'), folder], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return folder;
}

function request(url, { method = 'GET', headers = {}, body } = {}) {
  return new Promise((resolve, reject) => {
    const asked = http.request(url, { method, headers: { connection: 'close', ...headers } }, (answer) => {
      let text = '';
      answer.on('data', (part) => (text += part)).on('end', () => resolve({ status: answer.statusCode, text }));
      answer.on('error', reject);
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

const JSON_TYPE = { 'content-type': 'application/json' };
const picture = (random) => Array.from({ length: PIXELS }, () => random.below(256) / 255);
const body = (pixels) => JSON.stringify({ pixels });

/** What a client may send, and the statuses that are right. 503: the service is busy, or its worker has ended. */
const REQUESTS = [
  ['good', (random) => ({ headers: JSON_TYPE, body: body(picture(random)) }), [200, 503]],
  ['good', (random) => ({ headers: JSON_TYPE, body: body(picture(random)) }), [200, 503]],
  [
    'bytes',
    (random) => ({
      headers: { 'content-type': 'application/octet-stream' },
      body: Buffer.from(new Float32Array(picture(random)).buffer),
    }),
    [200, 503],
  ],
  ['no JSON', () => ({ headers: JSON_TYPE, body: '{"pixels": [' }), [400]],
  ['text', () => ({ headers: JSON_TYPE, body: body(picture({ below: () => 0 }).map(String)) }), [400]],
  ['length', () => ({ headers: JSON_TYPE, body: body([1, 2, 3]) }), [400]],
  ['range', () => ({ headers: JSON_TYPE, body: body(new Array(PIXELS).fill(1e300)) }), [400]],
  ['names', () => ({ headers: JSON_TYPE, body: '{"__proto__": {"pixels": 1}, "constructor": 2}' }), [400]],
  [
    'NaN',
    () => ({ headers: { 'content-type': 'application/octet-stream' }, body: Buffer.alloc(4 * PIXELS, 0xff) }),
    [400],
  ],
  ['media type', () => ({ headers: { 'content-type': 'text/plain' }, body: 'x' }), [415]],
  ['size', () => ({ headers: JSON_TYPE, body: Buffer.alloc(200_000, 0x20) }), [413]],
];

/** Bytes that are not a request, or half of one, and then the client goes. */
async function rude(port, random) {
  const texts = [
    'GET / HTTP/9.9\r\n\r\n',
    Buffer.from(Array.from({ length: 200 }, () => random.below(256))),
    'POST /classify HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 5000\r\n\r\n{"pixels": [0, 0',
    `GET /health HTTP/1.1\r\nhost: x\r\n${'x: y\r\n'.repeat(3000)}\r\n`,
    'POST /classify HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
  ];
  const socket = net.connect(port, '127.0.0.1');
  socket.on('error', () => {}); // the service may close it first
  const closed = new Promise((resolve) => socket.once('close', resolve)); // also after an error
  socket.resume().write(random.pick(texts));
  await Promise.race([closed, sleep(20)]);
  socket.destroy();
  await closed;
}

/** One service. */
async function startService(models, name, args) {
  const model = path.join(models, `served-${name}.pt`);
  fs.copyFileSync(path.join(models, 'reader.pt'), model);
  const file = path.join(ROOT, 'dist/examples/service/main.js');
  const options = [
    '--model',
    model,
    '--port',
    '0',
    '--threads',
    '1',
    '--poll',
    '100',
    '--memory-limit',
    '256',
    '--scripted', // tensors of the model are counted
    ...args,
  ];
  const env = { ...process.env, OMP_NUM_THREADS: '1', OPENBLAS_NUM_THREADS: '1' };
  const child = spawn(process.execPath, [file, ...options], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  const exited = new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal, said })));
  child.stderr.on('data', (data) => (said = (said + data).slice(-2000)));
  let printed = '';
  const url = await new Promise((resolve, reject) => {
    exited.then(({ said }) => reject(new Error(`the service did not start: ${said}`)));
    child.stdout.on('data', (data) => {
      printed = (printed + data).slice(-2000);
      const listening = /^listening on (http:\S+)$/m.exec(printed);
      if (listening !== null) resolve(listening[1]);
    });
  });
  const health = async () => JSON.parse((await request(`${url}/health`)).text);
  const when = async (wanted) => {
    for (;;) {
      const now = await health();
      if (wanted(now)) return now;
      await sleep(20);
    }
  };
  return {
    name,
    model,
    pid: child.pid,
    url,
    port: Number(new URL(url).port),
    exited,
    health,
    when,
    kill: (signal) => child.kill(signal),
    last: () => printed,
  };
}

/** Replaces the file atomically. */
function replace(file, content) {
  fs.writeFileSync(`${file}.new`, content);
  fs.renameSync(`${file}.new`, file);
}

/** The part of the soak that drives a service. `counts` are its requests by name and status. */
async function servicePart(models, name, args, { random, fail }) {
  const service = await startService(models, name, args);
  const counts = {};
  let isEnding = false;
  service.exited.then(({ code, signal, said }) => {
    if (!isEnding) fail(`${name} ended with ${signal ?? `status ${code}`}: ${said}`);
  });
  const read = (model) => fs.readFileSync(path.join(models, `${model}.pt`));
  const good = { reader: read('reader'), other: read('other') };
  const bad = [good.reader.subarray(0, good.reader.length / 2), Buffer.alloc(0), read('seven'), read('not-finite')];
  let served = 'reader';
  let reloads = 0;

  async function ask() {
    const [what, make, expected] = random.pick(REQUESTS);
    const { status, text } = await request(`${service.url}/classify`, { method: 'POST', ...make(random) });
    const key = `${what} ${status}`;
    counts[key] = (counts[key] ?? 0) + 1;
    if (!expected.includes(status))
      fail(`${name}: ${what}: expected ${expected}, got ${status}: ${text.slice(0, 200)}`);
    if (status !== 200) return;
    const { probabilities } = JSON.parse(text);
    const sum = probabilities.reduce((total, one) => total + one, 0);
    if (probabilities.length !== 10 || !(Math.abs(sum - 1) < 1e-3)) fail(`${name}: wrong probabilities: ${text}`);
  }

  return {
    name,
    isService: true,
    counts,
    pids: async () => [
      {
        name,
        pid: service.pid,
        ...(args.length > 0 ? { tensors: 0, bytes: 0 } : { tensors: MODEL_TENSORS, bytes: MODEL_BYTES }),
      },
      ...(await service.health()).workers.map(({ pid }, i) => ({
        name: `${name}, worker ${i + 1}`,
        pid,
        tensors: MODEL_TENSORS,
        bytes: MODEL_BYTES,
      })),
    ],
    async unit() {
      const some = Array.from({ length: 12 }, () => (random.chance(0.2) ? rude(service.port, random) : ask()));
      await Promise.all(some);
    },
    /** Between two rounds: a damaged model that is refused, then another good one, which is taken; sometimes a killed worker. */
    async change() {
      const version = (await service.health()).model.version;
      replace(service.model, random.pick(bad));
      await service.when(({ model }) => model.problem !== null);
      served = served === 'reader' ? 'other' : 'reader';
      replace(service.model, good[served]);
      await service.when(({ model }) => model.problem === null && model.version !== version);
      reloads++;
      counts.reloads = reloads;
      if (args.length === 0 || reloads % 3 !== 0) return;
      const [{ pid, restarts }] = (await service.health()).workers;
      process.kill(pid, 'SIGKILL');
      await service.when(({ workers: [first] }) => first.ready && first.restarts > restarts);
      counts['workers killed'] = (counts['workers killed'] ?? 0) + 1;
    },
    /** What the processes hold, once no request is in progress. */
    async rest() {
      const text = await service.when(({ waiting, running }) => waiting + running === 0);
      const { memory } = text;
      const figures = [{ pid: service.pid, ...memory }];
      if (args.length === 0) return figures;
      const metrics = (await request(`${service.url}/metrics`)).text;
      const metric = (what) => Number(new RegExp(`^service_worker_${what}\\{[^}]*\\} (\\S+)$`, 'm').exec(metrics)?.[1]);
      return [...figures, { pid: text.workers[0].pid, tensors: metric('tensors'), bytes: metric('live_bytes') }];
    },
    async end() {
      isEnding = true;
      service.kill('SIGTERM');
      const { code, signal, said } = await service.exited;
      if (code !== 0) fail(`${name}: expected exit status 0, got ${signal ?? code}: ${said}`);
      const [, begun, answered, gone] =
        /^ended: (\d+) requests begun, (\d+) answered, (\d+) clients gone/m.exec(service.last()) ?? [];
      if (begun === undefined || Number(begun) !== Number(answered) + Number(gone))
        fail(`${name}: requests were lost: ${service.last()}`);
    },
  };
}

module.exports = { makeModels, request, servicePart };
