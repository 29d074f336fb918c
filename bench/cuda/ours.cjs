/**
 * libtorch-node on a device: in a scope around each batch; with `gc` as the last argument without scopes, with `capture` replayed.
 * The protocol is that of bench/peers/serve.cjs. Arguments: the device, then the sizes of `sizesOf`.
 */
'use strict';

const torch = require('libtorch-node');
const { filled, serve } = require('../peers/serve.cjs');

const { nn } = torch;
const F = nn.functional;
const [device, ...words] = process.argv.slice(2);
const [side, width, length, images] = words.slice(0, 4).map(Number);
const mode = words[4] ?? 'scope';
const isDevice = device !== 'cpu';
torch.setNumThreads(1);

const make = (shape, seed, scale) => {
  const length = shape.reduce((a, b) => a * b, 1);
  return torch
    .tensor(filled(length, seed, scale))
    .reshape(shape)
    .to(device);
};
const owned = (body) => (mode === 'gc' ? body() : torch.scope(body));
const wait = () => isDevice && torch.cuda.synchronize(device);
/** `once` returns a tensor. The clock is read after the device has finished. */
const of = (once) => ({
  run: (count) => {
    owned(() => {
      for (let i = 0; i < count; i++) once();
    });
    wait();
  },
  values: () => torch.scope(() => once().reshape([-1]).cpu().toTypedArray()),
});
const maybeCaptured = (fn) => (mode === 'capture' ? torch.capture(fn) : fn);

const [a, b] = [1, 2].map((seed) => make([16], seed));
const [x, y, z] = [3, 4, 5].map((seed) => make([side, side], seed));
const mid = maybeCaptured((p, q, r) => p.mul(q).add(r).relu());

function fill(module, seed, scale) {
  torch.noGrad(() => {
    module.weight.copy_(make(module.weight.shape, seed, scale));
    if (module.bias !== null) module.bias.copy_(make(module.bias.shape, seed + 1, scale));
  });
  return module.to(device);
}

/** One token through four blocks of a decoder, whose caches hold `length` tokens. */
const HEADS = 8;
const blocks = [30, 50, 70, 90].map((seed) => ({
  keys: make([HEADS, length, width / HEADS], seed),
  held: make([HEADS, length, width / HEADS], seed + 1),
  qkv: make([3 * width, width], seed + 2, 0.1),
  out: make([width, width], seed + 3, 0.1),
  up: make([4 * width, width], seed + 4, 0.1),
  down: make([width, 4 * width], seed + 5, 0.1),
}));
const token = make([1, width], 29);
const decode = maybeCaptured((first) => {
  let h = first;
  for (const { keys, held, qkv, out, up, down } of blocks) {
    const [q, k, v] = F.linear(F.layerNorm(h, [width]), qkv)
      .reshape([3, HEADS, 1, width / HEADS])
      .unbind(0);
    const scores = q.matmul(torch.cat([keys, k], 1).transpose(1, 2)).div(Math.sqrt(width / HEADS));
    const mixed = scores.softmax(-1).matmul(torch.cat([held, v], 1));
    h = h.add(F.linear(mixed.reshape([1, width]), out));
    h = h.add(F.linear(F.gelu(F.linear(F.layerNorm(h, [width]), up)), down));
  }
  return h;
});

const cnn = new nn.Sequential(
  fill(new nn.Conv2d(3, 32, 3, { padding: 1 }), 10, 0.4),
  new nn.BatchNorm2d(32),
  new nn.ReLU(),
  new nn.MaxPool2d(2),
  fill(new nn.Conv2d(32, 64, 3, { padding: 1 }), 12, 0.1),
  new nn.BatchNorm2d(64),
  new nn.ReLU(),
  new nn.MaxPool2d(2),
  new nn.Flatten(),
  fill(new nn.Linear(64 * 64, 10), 14, 0.05),
).to(device);
const rows = make([images, 3, 32, 32], 16);
const labels = torch.arange(images).remainder(10).to(device);
const optimizer = new torch.optim.Adam(cnn.parameters(), { lr: 1e-3 });
function step() {
  optimizer.zeroGrad();
  const loss = F.crossEntropy(cnn.forward(rows), labels);
  loss.backward();
  optimizer.step();
  return loss.detach();
}

/** The most bytes that the allocator of the device held in `count` runs of the middle ops. */
function reserved(count) {
  cases.mid.run(1);
  torch.cuda.emptyCache();
  for (let i = 0; i < count; i++) owned(() => mid(x, y, z));
  wait();
  return isDevice ? torch.cuda.memory(device).peakReservedBytes : 0;
}

const cases = {
  small: of(() => a.add(b)),
  mid: of(() => mid(x, y, z)),
  mm: of(() => x.mm(y)),
  decode: of(() => torch.noGrad(() => decode(token))),
  train: of(step),
};
void serve(cases, { batches: { small: 500, mid: 50, mm: 20, decode: 5, train: 5 }, memory: reserved });
