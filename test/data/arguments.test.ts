/** Wrong indices, columns and contexts. */
import { ARGUMENT, refused, wrong } from '../support/refused';
import { balanced, torch } from '../support/torch';

const { data } = torch.utils as any;
const numbers = () => torch.ones([4, 2]);

describe('datasets: an index that is none', () => {
  const made = {
    Subset: () => new data.Subset(numbers(), [0, 1]),
    ConcatDataset: () => new data.ConcatDataset([numbers()]),
    StackDataset: () => new data.StackDataset(numbers(), numbers()),
    TableDataset: () => new data.TableDataset({ a: numbers(), b: [1, 2, 3, 4] }),
    TensorDataset: () => new data.TensorDataset(numbers()),
  };
  const of = Object.entries(made);

  test.each(of.filter(([name]) => name !== 'TensorDataset'))('%s.getItem', (name, make) => {
    const indices = [...wrong, '1', 0.5, 9, -9, 2n ** 70n];
    balanced(() =>
      refused(
        (index) => make().getItem(index),
        indices,
        'ERR_TORCH_INDEX',
        new RegExp(`^utils.data.${name}: expected `),
      ),
    );
  });

  test.each(of.filter(([, make]) => 'getItems' in torch.scope(() => make())))('%s.getItems', (name, make) => {
    if (name === 'ConcatDataset' || name === 'StackDataset') return;
    const items = (indices: unknown) => make().getItems(indices);
    balanced(() => {
      const lists = wrong.filter((value) => !Array.isArray(value));
      refused(items, lists, ARGUMENT, new RegExp(`^utils.data.${name}.getItems: argument 'indices': expected a list`));
      const holes = new Array(2);
      refused(items, [[Symbol('s')], ['1'], [0.5], holes], 'ERR_TORCH_INDEX', new RegExp(`^utils.data.${name}: `));
    });
  });

  test('bigints and negative indices are indices', () => {
    balanced(() =>
      torch.scope(() => {
        const pairs = new data.ConcatDataset([['a'], ['b', 'c']]);
        expect([0n, 2n, -1n, -3].map((index) => pairs.getItem(index))).toEqual(['a', 'c', 'c', 'a']);
        expect(new data.TensorDataset(numbers()).getItems([-1, 0n])[0].shape).toEqual([2, 2]);
      }),
    );
  });
});

test('a column that is null', () => {
  const message = /^utils.data.TableDataset: argument 'columns.a': expected a Tensor or a list/;
  refused((a) => new data.TableDataset({ a }), [null, undefined, 1], ARGUMENT, message);
});

test('a Generator instead of a context is not replaced by the default one', () => {
  const flip = new data.transforms.RandomHorizontalFlip(0.5);
  const generator = new torch.Generator();
  const image = torch.ones([3, 4, 4]);
  const message =
    /^utils.data.transforms: argument 'context': expected a sample's context, or an object \{ generator \}/;
  balanced(() => {
    refused((context) => flip.forward(image, context), [generator, 3, 'x', image, true], ARGUMENT, message);
    torch.scope(() => expect(flip.forward(image, { generator }).shape).toEqual([3, 4, 4]));
  });
  torch.disposeAll([image, generator]);
});
