/** Ops that give a tensor for each part, with more parts than a process has memory for. */
import { codeOf, counts, thrown, torch, untyped } from '../support/torch';

const MANY = 2 ** 31;
const { aten } = untyped.ops;
const long = () => torch.zeros([1]).expand([MANY]);
const integer = (value: number) => torch.tensor(value, { dtype: 'int64' });

test.each<[string, () => unknown]>([
  ['chunk', () => torch.zeros([0]).chunk(MANY)],
  ['unsafe_chunk', () => aten.unsafe_chunk.default(torch.zeros([0]), MANY)],
  ['tensor_split', () => aten.tensor_split.sections(torch.zeros([3]), MANY)],
  ['tensor_split', () => aten.tensor_split.tensor_indices_or_sections(torch.zeros([3]), integer(MANY))],
  ['hsplit', () => aten.hsplit.int(torch.zeros([0]), MANY)],
  ['vsplit', () => aten.vsplit.int(torch.zeros([0, 2]), MANY)],
  ['dsplit', () => aten.dsplit.int(torch.zeros([1, 1, 0]), MANY)],
  ['split', () => long().split(1)],
  ['unsafe_split', () => aten.unsafe_split.Tensor(long(), 2)],
  ['split_copy', () => aten.split_copy.Tensor(long(), 1)],
  ['unbind', () => long().unbind()],
  ['unbind', () => torch.zeros([MANY, 0]).unbind()],
  ['unbind_copy', () => aten.unbind_copy.int(long())],
  ['unbind', () => [...(long() as unknown as Iterable<unknown>)]],
])('%s of 2^31 parts is an error', (name, call) => {
  const before = counts();
  const error = torch.scope(() => thrown(call));
  expect(error.code).toBe('ERR_TORCH_RUNTIME');
  expect(error.message).toMatch(new RegExp(`^aten::${name}[.\\w]*: \\w+: expected at most 1048576.*, got `));
  expect(counts()).toEqual(before);
});

test('as many parts as there are elements for', () => {
  torch.scope(() => {
    expect(torch.zeros([4, 3]).chunk(MANY).length).toBe(4);
    expect(torch.zeros([4, 3]).split(MANY).length).toBe(1);
    expect(torch.zeros([3]).tensorSplit(5).length).toBe(5);
    expect(
      aten.tensor_split.tensor_indices_or_sections(torch.zeros([3]), torch.tensor([1, 2], { dtype: 'int64' })).length,
    ).toBe(3);
    expect(thrown(() => aten.tensor_split.tensor_indices_or_sections(torch.zeros([3]), integer(-1))).message).toMatch(
      /number of sections must be larger than 0/,
    );
  });
});

test('planes without elements that would be walked over for minutes', () => {
  torch.scope(() => {
    const error = thrown(() => torch.nn.functional.adaptiveMaxPool2d(torch.ones([2, 2, 2]), [2 ** 32, 0]));
    expect(error.message).toMatch(
      /outputSize: expected at most 16777216 along a dimension, if another one is 0.*, got /,
    );
    expect(torch.nn.functional.adaptiveMaxPool2d(torch.ones([2, 2, 2]), [3, 0]).shape).toEqual([2, 3, 0]);
  });
});

test('nested arrays for which the heap lacks room', () => {
  torch.scope(() => {
    for (const tensor of [torch.zeros([MANY, 0]), torch.zeros([2 ** 27, 0]), torch.zeros([2 ** 20, 2 ** 20, 0])]) {
      expect(codeOf(() => tensor.tolist())).toBe('ERR_TORCH_OUT_OF_MEMORY');
      expect(codeOf(() => JSON.stringify(tensor))).toBe('ERR_TORCH_OUT_OF_MEMORY');
    }
    const complex = torch.zeros([1], { dtype: 'complex64' }).expand([2 ** 26]);
    expect(codeOf(() => complex.tolist())).toBe('ERR_TORCH_OUT_OF_MEMORY');
    expect(torch.zeros([0, MANY]).tolist()).toEqual([]);
    expect(torch.zeros([2, 0, MANY]).tolist()).toEqual([[], []]);
  });
});

test('a tensor of 2^31 elements prints its first and last ones', () => {
  torch.scope(() => expect(String(long())).toBe('tensor([0., 0., 0.,  ..., 0., 0., 0.])'));
});
