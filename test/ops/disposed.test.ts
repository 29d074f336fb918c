/** Use after dispose, for every op and every tensor argument: refused by name, before anything is allocated. */
import { maker, rows, signature, variants } from '../support/signatures';
import { counts, settled, thrown, torch, untyped } from '../support/torch';

const isTensor = (base: string) => 'TWR'.includes(base);

/** A disposed tensor, and the value with it in place of one tensor. */
const gone = () => {
  const tensor = torch.zeros([2, 2]);
  tensor.dispose();
  tensor.dispose(); // idempotent
  return tensor;
};

test('torch.ops: each tensor argument in turn is disposed', () => {
  const wrong: string[] = [];
  let tried = 0;
  const before = settled(); // garbage of another file could be freed meanwhile
  const allocated = torch.memory().allocatedBytes;
  for (const { key, name, overload, number } of rows) {
    const { params } = signature(number);
    if (!params.some((param) => isTensor(param.type.base))) continue;
    const good = maker.values(signature(number), variants[9]!);
    const held = torch.memory();
    params.forEach((param, i) => {
      if (!isTensor(param.type.base)) return;
      const values = good.map((value, j) => (i !== j ? value : param.type.list ? [...value.slice(1), gone()] : gone()));
      const error = thrown(() => untyped.ops.aten[name][overload](...maker.rawCall(signature(number), values)));
      if (
        error.code !== 'ERR_TORCH_DISPOSED' ||
        error.argument !== param.name ||
        !error.message.includes(`'${param.name}'`)
      ) {
        wrong.push(`${key}, ${param.name}: ${error.stack}`);
      }
      tried++;
    });
    const now = torch.memory();
    if (now.tensors !== held.tensors || now.allocatedBytes !== held.allocatedBytes) wrong.push(`${key}: allocated`);
    maker.release(good);
  }
  expect(wrong).toEqual([]);
  expect(tried).toBeGreaterThan(rows.length * 2);
  expect(counts()).toEqual(before);
  expect(torch.memory().allocatedBytes).toBe(allocated);
});

/** The row numbers that a generated wrapper falls back to. */
const numbersOf = (fn: (...args: never[]) => unknown): number[] =>
  JSON.parse(/(?:method|function)Site\('[^']*', (\[[^\]]*\])/.exec(String(fn))?.[1] ?? '[]');

test('every method and every function refuses a disposed self', () => {
  const wrong: string[] = [];
  let tried = 0;
  const attempt = (label: string, fn: (...args: any[]) => unknown, asMethod: boolean) => {
    for (const number of numbersOf(fn as never)) {
      const { params, self } = signature(number);
      if (self < 0) continue;
      const values = maker.values(signature(number), variants[0]!);
      const old = gone();
      const positional: unknown[] = [];
      const options: Record<string, unknown> = {};
      params.forEach((param, i) => {
        if (i === self && asMethod) return;
        const value = i === self ? old : values[i];
        if (param.keywordOnly || param.out) options[param.jsName] = value;
        else positional.push(value);
      });
      const args = Object.keys(options).length > 0 ? [...positional, options] : positional;
      const error = thrown(() => fn.apply(asMethod ? old : undefined, args));
      if (error.code !== 'ERR_TORCH_DISPOSED') wrong.push(`${label} (${signature(number).schema}): ${error.stack}`);
      maker.release(values);
      tried++;
    }
  };
  const { prototype } = torch.Tensor as unknown as { prototype: Record<string, (...args: unknown[]) => unknown> };
  const methods = Object.getOwnPropertyNames(prototype).filter((name) => {
    // Some are accessors that give the method (lib/call/operators.ts).
    const isAccessor = ['data', 'real', 'imag'].includes(name);
    const value = isAccessor ? prototype[name] : Object.getOwnPropertyDescriptor(prototype, name)!.value;
    return typeof value === 'function' && numbersOf(value).length > 0;
  });
  for (const name of methods) attempt(`Tensor.${name}`, prototype[name]!, true);
  for (const [path, space] of spaces()) {
    for (const [name, fn] of Object.entries(space))
      if (typeof fn === 'function') attempt(`${path}.${name}`, fn as never, false);
  }
  expect(wrong).toEqual([]);
  expect(methods.length).toBeGreaterThan(500);
  expect(tried).toBeGreaterThan(1500);
});

const spaces = (): [string, object][] => [
  ['torch', untyped],
  ...['linalg', 'fft', 'special', 'sparse'].map((name): [string, object] => [name, untyped[name]]),
  ['nn.functional', untyped.nn.functional],
];
