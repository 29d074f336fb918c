/**
 * Every way in JavaScript to detach, resize or grow the buffer under a tensor. The tensor, its views, its graph and
 * concurrent work on the pool still read the old values. In a child process, because a mistake here is a crash.
 */
import { ask } from '../support/child';

const major = Number(process.versions.node.split('.')[0]);

/** `transfer` came with Node 22; 20 has it behind a flag. */
const FLAGS = [
  '--expose-gc',
  '--allow-natives-syntax',
  ...(major < 22 ? ['--harmony-rab-gsab-transfer'] : []),
  ...(major < 26 ? [] : ['--js-immutable-arraybuffer']),
];

/** Ways to detach the memory of `buffer`. Their results are dropped. */
const WAYS: Record<string, string> = {
  'transfer()': 'buffer.transfer()',
  'transfer(same size)': 'buffer.transfer(buffer.byteLength)',
  'transfer(0)': 'buffer.transfer(0)',
  'transfer(less)': 'buffer.transfer(16)',
  'transfer(more)': 'buffer.transfer(buffer.byteLength * 3)',
  'transferToFixedLength()': 'buffer.transferToFixedLength()',
  'transferToFixedLength(less)': 'buffer.transferToFixedLength(buffer.byteLength / 2)',
  'transferToFixedLength(more)': 'buffer.transferToFixedLength(buffer.byteLength * 2)',
  'transfers of transfers': 'buffer.transfer().transfer().transfer(8).transfer(1 << 22).transfer(0)',
  'there and back to the first size': 'buffer.transfer(8).transfer(buffer.byteLength)',
  'transfer of another realm': 'vm.runInNewContext("ArrayBuffer.prototype.transfer").call(buffer, 32)',
  'transferToImmutable()': 'buffer.transferToImmutable()',
  'structuredClone with transfer': 'structuredClone(buffer, { transfer: [buffer] })',
  'a message in this thread':
    'const { port1, port2 } = new MessageChannel(); try { port1.postMessage(buffer, [buffer]); receiveMessageOnPort(port2); } finally { port1.close(); }',
  'a message to a worker':
    'const worker = new Worker("require(`node:worker_threads`).parentPort.once(`message`, () => {})", { eval: true }); const end = once(worker, "exit"); try { worker.postMessage(buffer, [buffer]); } catch (error) { worker.terminate(); throw error; } finally { await end; }',
  'a BYOB read':
    'const stream = new ReadableStream({ type: "bytes", pull(c) { c.byobRequest.respond(4); } }); return (await stream.getReader({ mode: "byob" }).read(new Uint8Array(buffer))).value.length',
  'a BYOB read that is answered with another view':
    'const stream = new ReadableStream({ type: "bytes", pull(c) { const { buffer, byteOffset, byteLength } = c.byobRequest.view; c.byobRequest.respondWithNewView(new Uint8Array(buffer, byteOffset, byteLength)); } }); return (await stream.getReader({ mode: "byob" }).read(new Uint8Array(buffer))).value.length',
  'chunks of a byte stream':
    'const stream = new ReadableStream({ type: "bytes", start(c) { c.enqueue(new Uint8Array(buffer)); } }); return (await stream.getReader().read()).value.length',
  'detached by V8 itself': 'detach(buffer)',
};

/** Buffers that V8 does not detach, or that only grow. `buffer` has at least `bytes`; `more()` makes it grow. */
const GROWING: Record<string, string> = {
  'WebAssembly.Memory':
    'const memory = new WebAssembly.Memory({ initial: 64, maximum: 512 }); return { buffer: memory.buffer, more: () => memory.grow(64) };',
  'WebAssembly.Memory without a maximum':
    'const memory = new WebAssembly.Memory({ initial: 64 }); return { buffer: memory.buffer, more: () => memory.grow(300) };',
  'WebAssembly.Memory that grows by nothing':
    'const memory = new WebAssembly.Memory({ initial: 64 }); return { buffer: memory.buffer, more: () => memory.grow(0) };',
  'shared WebAssembly.Memory':
    'const memory = new WebAssembly.Memory({ initial: 64, maximum: 512, shared: true }); return { buffer: memory.buffer, more: () => memory.grow(64) };',
  SharedArrayBuffer: 'return { buffer: new SharedArrayBuffer(bytes), more: () => {} };',
  'growable SharedArrayBuffer':
    'const buffer = new SharedArrayBuffer(bytes, { maxByteLength: bytes * 8 }); return { buffer, more: () => buffer.grow(bytes * 8) };',
};

const PROGRAM = `
  const vm = require('node:vm');
  const { once } = require('node:events');
  const { MessageChannel, receiveMessageOnPort, Worker } = require('node:worker_threads');
  const detach = new Function('buffer', '%ArrayBufferDetach(buffer)');
  const N = 1 << 19; // 2 MB: a separate mapping, which is unmapped when it is freed
  const bytes = N * 4;
  const first = 40000; // all sums are exact
  const wrongs = (tensor) => { const got = tensor.toTypedArray(); let wrong = 0; for (let i = 0; i < N; i++) if (got[i] !== (first + i) % 1000) wrong++; return wrong; };
  const churn = () => { for (let round = 0; round < 2; round++) { gc(); for (let i = 0; i < 8; i++) new Float32Array(N).fill(-7); } };
  const attempt = async (buffer, way) => {
    const array = new Float32Array(buffer, 0, N);
    for (let i = 0; i < N; i++) array[i] = (first + i) % 1000;
    const wrong = {};
    const scope = torch.openScope();
    const tensor = torch.fromTypedArray(array, [512, 1024]);
    const again = torch.fromTypedArray(array.subarray(1024));
    const view = tensor.t().t().flatten();
    const sparse = torch.sparseCooTensor(torch.arange(N).unsqueeze(0), tensor.flatten(), [N]);
    const w = torch.ones([512, 1024], { requiresGrad: true });
    const loss = w.mul(tensor).sum();
    const pool = torch.run((T) => { let x = T.add(tensor, 0); for (let i = 0; i < 10; i++) x = T.maximum(x, tensor); return x; });
    let what = 'done';
    try { await way(buffer); } catch (error) { what = error instanceof TypeError && /is not a function/.test(error.message) ? 'absent' : 'refused'; }
    const length = array.length; // 0: detached
    churn();
    wrong.pool = wrongs(await pool);
    tensor.dispose();
    wrong.view = wrongs(view);
    wrong.sparse = wrongs(sparse.toDense());
    wrong.again = again.at(-1).item() === (first + N - 1) % 1000 ? 0 : 1;
    loss.backward();
    wrong.grad = wrongs(w.grad);
    view.add_(1).sub_(1);
    wrong.after = wrongs(view);
    scope.close();
    churn();
    return { what, length, wrong: Object.values(wrong).some((n) => n > 0) ? wrong : 0 };
  };
  const results = async (ways, bufferOf) => {
    const all = {};
    for (const [name, source] of Object.entries(ways)) {
      const AsyncFunction = attempt.constructor;
      all[name] = await bufferOf(name, source, AsyncFunction);
    }
    return all;
  };
  const finish = async (all) => {
    for (let turn = 0; turn < 200 && counts().tensors > 0; turn++) { gc(); await new Promise(setImmediate); }
    answer({ all, figures: counts() });
  };
`;

test('tensors keep the memory of a detached buffer', async () => {
  const { all, figures } = await ask(
    `${PROGRAM}
    const names = ['buffer', 'vm', 'once', 'MessageChannel', 'receiveMessageOnPort', 'Worker', 'detach'];
    results(${JSON.stringify(WAYS)}, (name, source, AsyncFunction) => {
      const way = new AsyncFunction(...names, source);
      return attempt(new ArrayBuffer(bytes), (buffer) => way(buffer, vm, once, MessageChannel, receiveMessageOnPort, Worker, detach));
    }).then(finish);
    `,
    FLAGS,
  );
  const attempted = Object.keys(WAYS).filter((name) => major >= 26 || name !== 'transferToImmutable()');
  for (const name of attempted) expect({ name, what: all[name].what }).not.toEqual({ name, what: 'absent' });
  const wrong = Object.fromEntries(Object.entries<any>(all).map(([name, { wrong }]) => [name, wrong]));
  expect(wrong).toEqual(Object.fromEntries(Object.keys(WAYS).map((name) => [name, 0])));
  // Node 24 and later do not detach a marked buffer; earlier versions do.
  expect(all['transfer()']).toMatchObject(major < 24 ? { what: 'done', length: 0 } : { what: 'refused' });
  expect(figures).toEqual({ tensors: 0, storages: 0, bytes: 0 });
});

test('tensors keep the memory of a growing buffer', async () => {
  const { all, figures } = await ask(
    `${PROGRAM}
    results(${JSON.stringify(GROWING)}, async (name, source) => {
      const { buffer, more } = new Function('bytes', source)(bytes);
      return attempt(buffer, more);
    }).then(finish);
    `,
    FLAGS,
  );
  const expected = { what: 'done', wrong: 0, length: expect.any(Number) };
  expect(all).toEqual(Object.fromEntries(Object.keys(GROWING).map((name) => [name, expected])));
  expect(figures).toEqual({ tensors: 0, storages: 0, bytes: 0 });
});

/** Buffers that can lose pages while they are attached. */
const RESIZABLE: Record<string, string> = {
  'as it is': 'return new Float32Array(buffer);',
  'an array of a fixed length': 'return new Float32Array(buffer, 0, 4);',
  'that says it cannot be resized':
    'Object.defineProperty(buffer, "resizable", { value: false }); return new Float32Array(buffer);',
  'without its prototype': 'Object.setPrototypeOf(buffer, null); return new Float32Array(buffer);',
  'that says it is shared':
    'Object.defineProperty(buffer, Symbol.toStringTag, { value: "SharedArrayBuffer" }); return new Float32Array(buffer);',
  'behind an array that names another buffer':
    'return Object.defineProperty(new Float32Array(buffer), "buffer", { value: new ArrayBuffer(64) });',
  'made resizable by a transfer of one that is': 'return new Float32Array(buffer.transfer(128));',
};

test('a resizable buffer is refused in any disguise', async () => {
  const codes = await ask(
    `
    const codes = {};
    for (const [name, source] of Object.entries(${JSON.stringify(RESIZABLE)})) {
      try {
        torch.fromTypedArray(new Function('buffer', source)(new ArrayBuffer(64, { maxByteLength: 1 << 20 })));
        codes[name] = 'taken';
      } catch (error) {
        codes[name] = error.code;
      }
    }
    answer(codes);
    `,
    FLAGS,
  );
  expect(codes).toEqual(Object.fromEntries(Object.keys(RESIZABLE).map((name) => [name, 'ERR_TORCH_ARGUMENT'])));
});

test('a shape whose elements detach the buffer is refused, as the buffer is empty then', async () => {
  const codes = await ask(
    `
    const codes = [];
    for (const detachAt of [1, 2, 3, 4]) {
      const array = new Float32Array(1 << 20);
      let reads = 0;
      const shape = new Proxy([1 << 20], { get(target, name) {
        if (name === '0' && ++reads === detachAt) array.buffer.transfer(0);
        return target[name];
      } });
      try {
        codes.push(torch.fromTypedArray(array, shape).sum().item());
      } catch (error) {
        codes.push(error.code ?? error.name);
      }
    }
    answer(codes);
    `,
    FLAGS,
  );
  // It was read before, or the buffer was empty, or V8 does not detach the buffer.
  for (const code of codes) expect([0, 'ERR_TORCH_ARGUMENT', 'TypeError']).toContain(code);
});
