/** The other thread's program: one command at a time, each a few lines that share tensors. */
'use strict';

const path = require('node:path');
const { receiveMessageOnPort, workerData } = require('node:worker_threads');

const { lib, commands, mail, answered } = workerData;
const torch = require(path.resolve(lib, 'index.js'));
const { native } = require(path.resolve(lib, 'addon/native.js'));

const held = new Map(); // tensors by their numbers in the model
const tokens = new Map();

const hold = (as, tensor) => {
  held.set(as, tensor);
  return tensor.shape;
};

const makers = {
  'add(1)': (t) => t.add(1),
  'clone()': (t) => t.clone(),
  'unsqueeze(0)': (t) => t.unsqueeze(0),
  'detach()': (t) => t.detach(),
};

const table = {
  external: () => process.memoryUsage().external,
  // Any call into the library delivers pending reports of other threads.
  figures: () => ({ ...torch.memory(), external: process.memoryUsage().external }),
  reported: () => native.reportedBytes(),
  collect: () => globalThis.gc(),

  take: ({ token, as }) => hold(as, torch.fromShared(token)),
  takeInScope: ({ token, as }) =>
    hold(
      as,
      torch.scope(() => torch.fromShared(token).unsqueeze(0)),
    ),
  throwInScope: ({ token }) => {
    torch.scope(() => {
      torch.fromShared(token).unsqueeze(0);
      torch.ones([10_000]);
      throw Object.assign(new Error('on purpose'), { code: 'ON_PURPOSE' });
    });
  },
  keep: ({ token, number }) => void tokens.set(number, token),
  takeKept: ({ number, as }) => hold(as, torch.fromShared(tokens.get(number))),
  read: () => {
    const { token, number } = receiveMessageOnPort(mail).message;
    tokens.set(number, token);
    return number;
  },

  make: ({ shape, dtype, as }) => hold(as, torch.ones(shape, { dtype })),
  borrow: ({ count, as }) => hold(as, torch.fromTypedArray(new Float32Array(count))),
  from: ({ of, name, as }) => hold(as, makers[name](held.get(of))),
  write: ({ of }) => void held.get(of).fill_(1),
  resize: ({ of, shape }) => void held.get(of).resize_(shape),
  set: ({ of, source }) => void torch.ops.aten.set_.source_Tensor(held.get(of), held.get(source)),
  backward: ({ of }) => torch.scope(() => held.get(of).mul(2).sum().backward()),
  share: ({ of }) => held.get(of).share(),

  dispose: ({ of }) => {
    held.get(of).dispose();
    held.delete(of);
  },
  drop: ({ handles, numbers }) => {
    for (const number of handles) held.delete(number);
    for (const number of numbers) tokens.delete(number);
  },
  clear: () => {
    for (const tensor of held.values()) tensor.dispose();
    held.clear();
    tokens.clear();
    while (receiveMessageOnPort(mail) !== undefined);
  },

  begin: () => void setImmediate(workOn),
  exit: () => torch.scope(() => process.exit(torch.ones([1000]).numel - 1000)),
};

/** Endless work, to be interrupted. */
function workOn() {
  for (;;) {
    torch.scope(() => {
      const t = torch.ones([1000]).add(1);
      torch.fromShared(t.share()).add_(1);
    });
    torch.ones([1000]).view([10, 100]).sum();
  }
}

/** Answers, and drops the message: no variable of a remaining frame refers to its contents. */
commands.on('message', (command) => {
  let answer;
  try {
    answer = { value: table[command.do](command) };
  } catch (error) {
    answer = { error: { code: error.code, message: error.message } };
  }
  commands.postMessage(answer);
  Atomics.add(answered, 0, 1);
  Atomics.notify(answered, 0);
});
