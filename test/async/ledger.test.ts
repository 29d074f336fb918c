/**
 * Steps of torch.run replace the storages of sparse tensors on other threads, while this thread reads all tensors for its
 * accounting. Each program used to crash most of the time, or corrupt a reference count, when both used the same tensor.
 */
import { program } from '../support/child';

const prelude = `
  const sparse = (n) => torch.sparseCooTensor(torch.tensor([[0n, 3n, 7n]]), torch.rand([3, n]), [10, n]);
  // Many handles of the tensor, so that each pass over all sparse ones takes long.
  const name = (s) => { const leaf = torch.zeros(s.shape); leaf.grad = s; return Array.from({ length: 60 }, () => leaf.grad); };
  const chain = async (runs, ops, s, a) => {
    for (let i = 0; i < runs; i++) {
      await torch.run((t) => {
        for (let k = 0; k < ops; k++) {
          t.ops.aten.add_.Tensor(s, a);
          t.ops.aten.zero_.default(s);
        }
      });
    }
  };
  let going = true;
  const whileGoing = async (work) => { while (going) await work(); };
  // An unrelated backward on this thread, after which the accounting reads all sparse tensors.
  const backward = () => {
    const w = torch.ones([2], { requiresGrad: true });
    return whileGoing(async () => {
      for (let i = 0; i < 20; i++) torch.scope(() => w.sum().backward());
      await new Promise((resolve) => setImmediate(resolve));
    });
  };
  const end = (work) => torch.scope(work).then(() => answer(counts()));
`;
const nothing = { tensors: 0, storages: 0, bytes: 0 };

async function endsWell(source: string): Promise<void> {
  const { code, signal, stderr, answer } = await program(prelude + source);
  expect({ code, signal, stderr, answer }).toEqual({ code: 0, signal: null, stderr: '', answer: nothing });
}

it('two chains of steps on separate sparse tensors', () =>
  endsWell(`end(async () => {
    const [s, a, x, y] = [sparse(4), sparse(4), sparse(4), sparse(4)];
    name(s);
    name(x);
    const others = whileGoing(() => chain(1, 1, x, y));
    await chain(10, 1000, s, a);
    going = false;
    await others;
  })`));

it('a chain of steps on a sparse tensor, and an unrelated backward()', () =>
  endsWell(`end(async () => {
    const [s, a] = [sparse(4), sparse(4)];
    name(s);
    const other = backward();
    await chain(10, 1000, s, a);
    going = false;
    await other;
  })`));

it('two trainings with sparse gradients, and an unrelated backward()', () =>
  endsWell(`end(async () => {
    const indices = torch.tensor([1n, 2n, 3n, 2n]);
    const train = async (ops, more) => {
      const w = torch.rand([50, 4], { requiresGrad: true });
      for (let i = 0; more(i); i++) {
        await torch.run((t) => {
          for (let k = 0; k < ops; k++) t.nn.functional.embedding(indices, w, { sparse: true }).sum().backward();
        });
        if (i === 0) for (let k = 0; k < 60; k++) w.grad;
      }
    };
    const [short, other] = [train(1, () => going), backward()];
    await train(100, (i) => i < 8);
    going = false;
    await Promise.all([short, other]);
  })`));
