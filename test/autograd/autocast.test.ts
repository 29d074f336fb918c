/** torch.autocast against PyTorch on the same libtorch: dtypes and values, to the bit. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { bytesOf } from '../nn/recorded';
import { python3 } from '../support/python3';
import { release } from '../support/release';
import { ROOT, torch, untyped } from '../support/torch';

interface Coded {
  tensor?: number;
  list?: Value[];
  dtype?: string;
  number?: string;
}
type Value = Coded | string | number | boolean | null;
interface OpCase {
  name: string;
  dtype: string;
  args: Value[];
  kwargs: Record<string, Value>;
  error?: string;
  results?: Value[];
}
interface Trained {
  dtype: string;
  losses: Value;
  state: Value;
  grads: Value;
}

let recorded: { ops: OpCase[]; trained: Trained[] };
let tensors: any[];
const dtypes = release === '1.13' ? ['bfloat16'] : ['bfloat16', 'float16'];

const threads = torch.getNumThreads();
beforeAll(async () => {
  torch.setNumThreads(1);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'autocast-'));
  try {
    const args = [path.join(ROOT, 'test/autograd/autocast.py'), folder, dtypes.join()];
    const { code, stderr } = await python3(args);
    if (code !== 0) throw new Error(`autocast.py: ${stderr}`);
    recorded = JSON.parse(fs.readFileSync(path.join(folder, 'cases.json'), 'utf8'));
    tensors = (await untyped.load(path.join(folder, 'tensors.pt'))) as unknown[];
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});
afterAll(() => {
  torch.setNumThreads(threads);
  untyped.disposeAll(tensors);
});

const camelCase = (name: string) =>
  name.replace(/(?<=[a-zA-Z0-9])_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

function decoded(value: Value): any {
  if (typeof value !== 'object' || value === null) return value;
  if (value.list !== undefined) return value.list.map(decoded);
  if (value.dtype !== undefined) return value.dtype;
  if (value.number !== undefined) return Number(value.number.replace('inf', 'Infinity'));
  return tensors[value.tensor!].clone(); // an op may write to it
}

const flat = (value: any): any[] =>
  value instanceof torch.Tensor ? [value] : Array.isArray(value) ? value.flatMap(flat) : [];
const wantedOf = (value: Value): any[] => (value as Coded).list!.map((one) => tensors[(one as Coded).tensor!]);

/** The function for one of Python's names; undefined for Python's own syntax, such as `__getitem__`. Methods first: new_zeros. */
function functionOf(name: string): ((...args: any[]) => any) | undefined {
  const parts = name.split('.').map(camelCase);
  const last = parts.pop()!;
  const isMethod = parts.length === 0 && torch.scope(() => typeof (torch.zeros([1, 1]) as any)[last] === 'function');
  if (isMethod) return (self, ...args) => self[last](...args);
  let space = untyped;
  for (const part of parts) space = part in (space ?? {}) ? space[part] : undefined;
  return space !== undefined && last in space && typeof space[last] === 'function' ? space[last] : undefined;
}

function difference(got: any[], wanted: any[], values: boolean): string | undefined {
  if (got.length !== wanted.length) return `${got.length} results instead of ${wanted.length}`;
  for (const [i, one] of got.entries()) {
    const want = wanted[i];
    if (one.dtype !== want.dtype) return `result ${i} is ${one.dtype} instead of ${want.dtype}`;
    if (one.shape.join() !== want.shape.join())
      return `result ${i} has shape [${one.shape}] instead of [${want.shape}]`;
    const plain = one.resolveConj().resolveNeg().contiguous();
    if (values && !bytesOf(plain).equals(bytesOf(want))) return `result ${i} has other values`;
  }
  return undefined;
}

/** The tables' functions of these names call more than the op, or its arguments in another order. */
const composed = [
  ...['nn.functional.embedding', 'special.polygamma', 'linalg.lstsq', 'linalg.pinv', 'einsum', 'normal', 'rand_like'],
  ...['svd_lowrank', 'pca_lowrank', 'tensordot'],
  // From 2.6 on; as_strided reads the memory around its input, which the record does not have.
  ...['_upsample_bilinear2d_aa', 'max_pool2d_with_indices_backward', 'as_strided'],
];

/** Their results have no defined values. */
const uninitialized = /(^|_)empty|^resize_|^new_empty/;

function opDifference({ name, dtype, args, kwargs, results, error }: OpCase): string | undefined {
  const fn = functionOf(name)!;
  return torch.scope(() => {
    const given = args.map(decoded);
    const options = Object.entries(kwargs).map(([key, value]) => [camelCase(key), decoded(value)]);
    if (options.length > 0) given.push(Object.fromEntries(options));
    torch.manualSeed(42);
    let got: any[];
    try {
      got = flat(torch.autocast({ device: 'cpu', dtype: dtype as 'bfloat16' }, () => fn(...given)));
    } catch (thrown) {
      return error !== undefined ? undefined : `${name}: ${(thrown as Error).message.slice(0, 200)}`;
    }
    if (error !== undefined) return `${name}: a result in place of Python's error: ${error}`;
    const text = difference(
      got,
      results!.map((one) => tensors[(one as Coded).tensor!]),
      !uninitialized.test(name),
    );
    return text === undefined ? undefined : `${name}: ${text}`;
  });
}

test('dtypes and values of the ops of op_db', () => {
  const here = recorded.ops.filter(({ name }) => !composed.includes(name) && functionOf(name) !== undefined);
  const wrong = here.map(opDifference).filter((text) => text !== undefined);
  expect(wrong).toEqual([]);
  expect(here.length).toBeGreaterThan(600);
});

class Net extends torch.nn.Module {
  conv = new torch.nn.Conv2d(1, 4, 3);
  norm = new torch.nn.BatchNorm2d(4);
  rnn = new torch.nn.LSTM(16, 8, { batchFirst: true });
  fc = new torch.nn.Linear(8, 10);

  override forward(input: any): any {
    const x = torch.nn.functional.maxPool2d(this.norm.forward(this.conv.forward(input)).relu(), 2) as any;
    const [all] = this.rnn.forward(x.flatten(2));
    const at = (time: number) => untyped.select(all, 1, time);
    return untyped.add(this.fc.forward(at(-1)), this.fc.forward(at(0)));
  }
}

const lossOf = (net: Net, x: any, y: any) => untyped.nn.functional.crossEntropy(net.forward(x), y);

/** Three steps as in autocast.py, then a backward inside the region; `forward` is how the loss is computed. */
async function trained({ dtype, losses, state, grads }: Trained, forward: (net: Net, x: any, y: any) => Promise<any>) {
  torch.manualSeed(7);
  const net = new Net();
  const optimizer = new torch.optim.SGD(net.parameters(), { lr: 0.1, momentum: 0.9 });
  const scaler = new torch.amp.GradScaler('cpu', { initScale: 1024 });
  const options = { device: 'cpu', dtype: dtype as 'bfloat16' } as const;
  await torch.scope(async () => {
    const wanted = wantedOf(losses);
    let batch: [any, any] = [null, null];
    for (const want of wanted) {
      batch = [torch.randn([6, 1, 10, 10]), torch.randint(0, 10, [6])];
      optimizer.zeroGrad();
      const loss = await torch.autocast(options, () => forward(net, ...batch));
      scaler.scale(loss).backward();
      scaler.step(optimizer);
      scaler.update();
      expect(difference([loss.detach()], [want], true)).toBe(undefined);
    }
    torch.autocast(options, () => {
      const inside = lossOf(net, ...batch);
      optimizer.zeroGrad();
      inside.backward();
    });
    expect(difference(Object.values(net.stateDict()), wantedOf(state), true)).toBe(undefined);
    const got = [...net.parameters()].map((parameter) => parameter.grad);
    expect(difference(got, wantedOf(grads), true)).toBe(undefined);
    optimizer.zeroGrad();
  });
  optimizer.dispose();
  net.dispose();
}

test('training with scaled losses: losses, weights, buffers and gradients', async () => {
  for (const one of recorded.trained) {
    await trained(one, async (...args) => lossOf(...args));
  }
});

test('the same with the ops of the forward on another thread', async () => {
  for (const one of recorded.trained) {
    await trained(one, (...args) => torch.run(() => lossOf(...args)) as Promise<unknown>);
  }
});
