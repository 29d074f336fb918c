/**
 * A small HTTP service and its clients: a body of 64 numbers and 100 tensors per request, in one scope. Answers each line
 * "closed MS" (four clients, each with one request in flight) and "paced MS PER_SECOND" with the clients' figures
 * { perSecond, p50, p99 } (ms) and this process's CPU time per request in microseconds.
 */
'use strict';

const { fork } = require('node:child_process');
const http = require('node:http');
const path = require('node:path');
const { createInterface } = require('node:readline');
const torch = require('libtorch-node');

const UNITS = 64;
/** Each layer makes three tensors; the image, softmax and argmax make four more. */
const LAYERS = 32;

torch.setNumThreads(1);
const layers = Array.from({ length: LAYERS }, () => ({
  weight: torch.randn([UNITS, UNITS]).div(UNITS),
  bias: torch.zeros([UNITS]),
}));

const classify = (pixels) =>
  torch.scope(() =>
    torch.noGrad(() => {
      let x = torch.tensor(pixels);
      for (const { weight, bias } of layers) x = weight.mv(x).add(bias).relu();
      const probabilities = x.softmax(0);
      return { digit: Number(probabilities.argmax().item()), sure: probabilities.max().item() };
    }),
  );

const server = http.createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (chunk) => {
    body += chunk;
  });
  request.on('end', () => {
    const text = JSON.stringify(classify(JSON.parse(body)));
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
    response.end(text);
  });
});

server.listen(0, '127.0.0.1', () => {
  const clients = fork(path.join(__dirname, 'http-clients.cjs'), [String(server.address().port), String(UNITS)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  let before;
  clients.on('message', ({ requests, ...seen }) => {
    const { user, system } = process.cpuUsage(before);
    process.stdout.write(`${JSON.stringify({ ...seen, cpu: (user + system) / requests })}\n`);
  });
  const lines = createInterface({ input: process.stdin });
  lines.on('line', (line) => {
    const [how, ms, perSecond] = line.split(' ');
    before = process.cpuUsage();
    clients.send({ ms: Number(ms), perSecond: how === 'paced' ? Number(perSecond) : undefined });
  });
  lines.on('close', () => {
    clients.kill();
    server.close();
    server.closeAllConnections();
  });
});
