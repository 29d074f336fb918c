/** `node getters.mjs method`: a group of one rank whose arguments run code of the program. Prints 'done'. */
import assert from 'node:assert/strict';
import torch from '../../../dist/lib/index.mjs';

const d = torch.distributed;
const [initMethod] = process.argv.slice(2);
const join = () => d.initProcessGroup({ initMethod: `${initMethod}${joined++}`, rank: 0, worldSize: 1 });
let joined = 0;
const ones = () => torch.ones([4]);
const disposed = { code: 'ERR_TORCH_DISPOSED' };
/** A list whose last element is a getter that runs `fire` first. */
const list = (tensors, fire) =>
  Object.defineProperty([...tensors], tensors.length - 1, {
    enumerable: true,
    get: () => {
      fire();
      return tensors.at(-1);
    },
  });
const op = (fire) => ({
  get op() {
    fire();
    return 'sum';
  },
});

const cases = [
  /** An option disposes the tensor. */
  async () => {
    const t = ones();
    await assert.rejects(
      d.allReduce(
        t,
        op(() => t.dispose()),
      ),
      disposed,
    );
  },
  /** The last element of a list disposes the tensor that was read before. */
  async () => {
    const [out, t] = [ones(), ones()];
    await assert.rejects(
      d.allGather(
        list([out], () => t.dispose()),
        t,
      ),
      disposed,
    );
    out.dispose();
  },
  /** The last element of a list ends the group that the call has read. */
  async () => {
    const [out, t] = [ones(), ones()];
    let ending;
    const call = d.allGather(
      list([out], () => {
        ending = d.destroyProcessGroup();
      }),
      t,
    );
    await assert.rejects(call, { code: 'ERR_TORCH_DISTRIBUTED' });
    await ending;
    for (const tensor of [out, t]) tensor.dispose();
    await join();
  },
  /** An exception of the program. */
  async () => {
    const t = ones();
    const mine = new Error('mine');
    const fire = () => {
      throw mine;
    };
    await assert.rejects(d.allReduce(t, op(fire)), mine);
    await assert.rejects(d.allGather(list([t], fire), t), mine);
    t.dispose();
  },
  /** A Proxy around a tensor, whose traps dispose it, gives a result or an error with a code. */
  async () => {
    const t = ones();
    let reads = 0;
    const proxy = new Proxy(t, {
      get(target, name) {
        if (++reads === 3) target.dispose();
        return Reflect.get(target, name);
      },
    });
    await d.allReduce(proxy).catch((error) => assert.match(error.code, /^ERR_TORCH_/));
    t.dispose();
  },
];

await join();
for (const run of cases) {
  const before = torch.memory().tensors;
  await run();
  assert.equal(torch.memory().tensors, before);
}
await d.destroyProcessGroup();
console.log('done');
