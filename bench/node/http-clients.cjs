/** The clients of http.cjs, in a separate process: `PORT UNITS`. */
'use strict';

const http = require('node:http');

const [port, units] = process.argv.slice(2).map(Number);
const CLIENTS = 4;
const body = JSON.stringify(Array.from({ length: units }, (_, i) => Number(((i * 7919) % 1000) / 1000)));
const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
const options = {
  ...{ port, host: '127.0.0.1', method: 'POST', agent },
  headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
};

/** Resolves with the milliseconds from `from` to the answer. */
const ask = (from) =>
  new Promise((resolve, reject) => {
    const request = http.request(options, (response) => {
      response.resume();
      response.on('end', () => {
        if (response.statusCode === 200) resolve(performance.now() - from);
        else reject(new Error(`status ${response.statusCode}`));
      });
    });
    request.on('error', reject);
    request.end(body);
  });

async function closed(ms) {
  const start = performance.now();
  const took = [];
  const client = async () => {
    do took.push(await ask(performance.now()));
    while (performance.now() - start < ms);
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return { took, seconds: (performance.now() - start) / 1000 };
}

/** Each request's latency counts from its due time, so a delay also counts for the requests that wait behind it. */
async function paced(ms, perSecond) {
  const start = performance.now();
  const asked = [];
  for (let i = 0; i < (ms * perSecond) / 1000; ) {
    const due = start + (i / perSecond) * 1000;
    const wait = due - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    else {
      asked.push(ask(due));
      i++;
    }
  }
  return { took: await Promise.all(asked), seconds: (performance.now() - start) / 1000 };
}

process.on('disconnect', () => process.exit());
process.on('message', async ({ ms, perSecond }) => {
  const { took, seconds } = perSecond === undefined ? await closed(ms) : await paced(ms, perSecond);
  took.sort((a, b) => a - b);
  const at = (share) => took[Math.min(took.length - 1, Math.floor(share * took.length))];
  process.send({ requests: took.length, perSecond: took.length / seconds, p50: at(0.5), p99: at(0.99) });
});
