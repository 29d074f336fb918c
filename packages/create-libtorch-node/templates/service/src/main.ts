/** Starts the service: `npm start`. Environment: PORT, HOST, MEMORY_LIMIT, GRACE_MS. */
import type { AddressInfo } from 'node:net';
import torch from 'libtorch-node';
import { loadModel } from './model.js';
import { makeServer } from './server.js';

const { PORT = '8080', HOST = '127.0.0.1', MEMORY_LIMIT = String(512 * 1024 ** 2), GRACE_MS = '5000' } = process.env;

/** A whole number from the environment. */
function wholeNumber(name: string, text: string): number {
  const value = Number(text);
  if (text !== '' && Number.isSafeInteger(value) && value >= 0) return value;
  console.error(`${name}: expected a whole number of 0 or more, got ${text}`);
  process.exit(2);
}

const port = wholeNumber('PORT', PORT);
const graceMs = wholeNumber('GRACE_MS', GRACE_MS);
torch.setMemoryLimit(wholeNumber('MEMORY_LIMIT', MEMORY_LIMIT));
torch.setNumThreads(1); // small ops are faster on one thread

const server = makeServer(loadModel());
server.listen(port, HOST, () => {
  console.log(`listening on http://${HOST}:${(server.address() as AddressInfo).port}`);
});

// The first signal ends the service once its requests are answered. A second one changes nothing: npm passes on the signals of a
// terminal, which the service gets from the terminal as well.
let stopping = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (stopping) return;
    stopping = true;
    let cutOff = false;
    server.close(() => {
      console.log(cutOff ? 'closed connections whose requests did not end' : 'all requests are answered');
      // Without it Node would remove these handlers before it ends, and a late signal would end it with another status.
      process.exit();
    });
    server.closeIdleConnections();
    // A client that stops in the middle of its request would hold the service: once closed, Node does not check requestTimeout.
    setTimeout(() => {
      cutOff = true;
      server.closeAllConnections();
    }, graceMs).unref();
  });
}
