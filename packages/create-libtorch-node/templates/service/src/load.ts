/** The load of the leak check: sends requests to the service of this process for some seconds. */
import type { AddressInfo } from 'node:net';
import { FEATURES, loadModel } from './model.js';
import { makeServer } from './server.js';

const DURATION_MS = 5_000;

const server = makeServer(loadModel());
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/predict`;

let answered = 0;
for (const end = Date.now() + DURATION_MS; Date.now() < end; answered++) {
  const features = Array.from({ length: FEATURES }, () => Math.random());
  const response = await fetch(url, { method: 'POST', body: JSON.stringify({ features }) });
  if (response.status !== 200) throw new Error(`status ${response.status}: ${await response.text()}`);
  await response.arrayBuffer();
}
server.close();
server.closeAllConnections();
console.log(`${answered} requests answered`);
