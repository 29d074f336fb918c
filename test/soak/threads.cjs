/** Worker threads that share a tensor, of which every third is ended in the middle of its work, and a DataLoader with a worker. */
'use strict';

const { once } = require('node:events');
const { isMainThread, parentPort, Worker, workerData } = require('node:worker_threads');
const { answerDriver, torch } = require('./program.cjs');

const [ROWS, SIZE, QUESTIONS] = [256, 64, 8];

/** In a worker: the nearest row of each question, again and again; posts the first answer. */
async function search({ rows, forever }) {
  const shared = torch.fromShared(rows);
  const nearest = () => torch.scope(() => torch.rand([QUESTIONS, SIZE]).mm(shared.t()).argmax(1).share());
  parentPort.postMessage(nearest());
  while (forever) {
    await torch.scope(() => torch.async.mm(torch.rand([QUESTIONS, SIZE]), shared.t()));
    torch.rand([SIZE, SIZE]);
  }
}

/** Ends with the thread, by its own or in the middle. */
async function thread(rows, forever) {
  const worker = new Worker(__filename, { workerData: { rows, forever } });
  const ended = once(worker, 'exit');
  const [token] = await once(worker, 'message');
  torch.scope(() => {
    const found = torch.fromShared(token);
    if (found.max().item() >= ROWS) throw new Error(`expected a row below ${ROWS}, got ${found.max().item()}`);
  });
  if (forever) await worker.terminate();
  await ended;
}

function main() {
  torch.setNumThreads(1);
  torch.setMemoryLimit(256 * 2 ** 20);
  const rows = torch.rand([ROWS, SIZE]);
  let count = 0;
  async function unit() {
    const token = rows.share();
    try {
      await thread(token, ++count % 3 === 0);
    } finally {
      token.dispose();
    }
  }
  answerDriver({
    async work(units) {
      for (let i = 0; i < units; i++) await unit();
    },
    model: () => ({ tensors: 1, bytes: 4 * ROWS * SIZE }),
  });
}

if (isMainThread) main();
else void search(workerData);
