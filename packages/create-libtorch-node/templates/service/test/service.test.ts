import assert from 'node:assert/strict';
import { type AddressInfo, connect } from 'node:net';
import { after, before, test } from 'node:test';
import { assertNoTensorLeaks } from 'libtorch-node/testing';
import { LABELS, loadModel, type Prediction } from '../src/model.js';
import { makeServer } from '../src/server.js';

const server = makeServer(loadModel());
let url = '';
before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(() => {
  server.close();
  server.closeAllConnections();
});

const post = (body: string) => fetch(`${url}/predict`, { method: 'POST', body });

test('an answer has a label and its probability', async () => {
  const response = await post('{"features": [5.1, 3.5, 1.4, 0.2]}');
  assert.equal(response.status, 200);
  const { label, probability } = (await response.json()) as Prediction;
  assert.ok(LABELS.includes(label));
  assert.ok(probability >= 1 / LABELS.length && probability <= 1);
});

test('wrong requests are refused', async () => {
  for (const body of ['', 'null', '{}', '{"features": [1, 2, 3]}', '{"features": [1, 2, 3, "4"]}']) {
    const response = await post(body);
    assert.deepEqual([body, response.status], [body, 400]);
    assert.match(await response.text(), /expected/);
  }
  const large = await post('{"features": [1e308, 1, 1, 1]}'); // infinite in float32
  assert.equal(large.status, 400);
  assert.match(await large.text(), /finite/);
  assert.equal((await post(' '.repeat(100_000))).status, 413);
  assert.equal((await fetch(`${url}/nothing`)).status, 404);
});

test('a client that leaves in the middle of a request is not logged as an error', async (t) => {
  const log = t.mock.method(console, 'error', () => {});
  const gone = new Promise((resolve) => server.once('request', (request) => request.once('close', resolve)));
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write('POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"features"', () => socket.destroy());
  await gone;
  await new Promise(setImmediate); // until the service has seen it
  assert.equal(log.mock.callCount(), 0);
});

test('the health of the service', async () => {
  const { ok, memory } = (await (await fetch(`${url}/healthz`)).json()) as { ok: boolean; memory: { bytes: number } };
  assert.equal(ok, true);
  assert.ok(memory.bytes > 0);
});

test('requests leave no tensor behind, also refused ones', async () => {
  await assertNoTensorLeaks(async () => {
    await (await post('{"features": [1, 2, 3, 4]}')).arrayBuffer();
    await (await post('{"features": []}')).arrayBuffer();
  });
});
