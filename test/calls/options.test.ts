/** Options objects that the generated wrappers take themselves: what they read, how often, and what they leave to the parser. */
import { torch, untyped } from '../support/torch';

const numbers = (tensor: any): unknown => tensor.toArray();

/** The results, disposed with the scope. */
const inScope = (body: () => void) => torch.scope(body);
const x = () =>
  untyped.tensor([
    [1, 2],
    [3, 4],
  ]);

test('the same results as positional arguments', () => {
  inScope(() => {
    expect(numbers(x().add(x(), { alpha: 2 }))).toEqual([
      [3, 6],
      [9, 12],
    ]);
    expect(numbers(x().add(1, { alpha: 2 }))).toEqual([
      [3, 4],
      [5, 6],
    ]);
    expect(numbers(x().sum({ dim: 1, keepdim: true }))).toEqual([[3], [7]]);
    expect(numbers(x().sum({ dim: [0, 1] }))).toBe(10);
    expect(numbers(x().sum([1], { keepdim: true }))).toEqual([[3], [7]]);
    expect(x().sum({ dtype: 'float64' }).dtype).toBe('float64');
    expect(untyped.zeros([2], { dtype: 'int64' }).dtype).toBe('int64');
    expect(numbers(untyped.sum(x(), { dim: 0 }))).toEqual([4, 6]);
  });
});

test('getters run once, in the order of the names, and what they change later does not count', () => {
  inScope(() => {
    const calls: string[] = [];
    const dim = [1];
    const options = {
      get dim() {
        calls.push('dim');
        return dim;
      },
      get keepdim() {
        calls.push('keepdim');
        dim[0] = 0;
        x().sum([0], true); // uses the shared memory of arguments
        return true;
      },
    };
    expect(numbers(x().sum(options))).toEqual([[3], [7]]);
    expect(calls).toEqual(['dim', 'keepdim']);
  });
});

test('a value that does not fit is not read again', () => {
  inScope(() => {
    let calls = 0;
    const options = {
      get alpha() {
        calls++;
        return 'two';
      },
    };
    expect(() => x().add(x(), options)).toThrow(expect.objectContaining({ code: 'ERR_TORCH_OVERLOAD' }));
    expect(calls).toBe(1);
    const list = {
      get dtype() {
        calls++;
        return undefined;
      },
    };
    expect(untyped.zeros([2], list).dtype).toBe('float32');
    expect(calls).toBe(2);
  });
});

test('a getter may dispose an argument', () => {
  inScope(() => {
    const [a, b] = [x(), x()];
    const options = {
      get alpha() {
        b.dispose();
        return 2;
      },
    };
    expect(() => a.add(b, options)).toThrow(expect.objectContaining({ code: 'ERR_TORCH_DISPOSED' }));
  });
});

test('other objects are left to the parser', () => {
  inScope(() => {
    const three = [
      [3, 6],
      [9, 12],
    ];
    expect(numbers(x().add(x(), Object.assign(Object.create(null), { alpha: 2 })))).toEqual(three);
    expect(numbers(x().add(x(), { alpha: 2n }))).toEqual(three);
    expect(numbers(x().add(x(), { alpha: undefined }))).toEqual(numbers(x().add(x())));
    expect(numbers(x().sum({ keepdim: true, dim: 1 }))).toEqual([[3], [7]]);
    expect(() => x().add(x(), { alhpa: 2 })).toThrow(expect.objectContaining({ code: 'ERR_TORCH_OVERLOAD' }));
    expect(() => x().add(x(), { alpha: 2, beta: 1 })).toThrow(expect.objectContaining({ code: 'ERR_TORCH_OVERLOAD' }));
    expect(numbers(x().add(x(), new Proxy({ alpha: 2 }, {})))).toEqual(three);
  });
});

test('a name that only Object.prototype has is not an option', () => {
  inScope(() => {
    Object.defineProperty(Object.prototype, 'alpha', { value: 2, enumerable: true, configurable: true });
    try {
      expect(numbers(x().add(x(), {}))).toEqual(numbers(x().add(x())));
    } finally {
      delete (Object.prototype as { alpha?: number }).alpha;
    }
  });
});
