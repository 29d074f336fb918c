/** Captured functions that cannot be replayed and hide it: they catch the refusal, or what they write to looks new. */
import { torch } from '../support/torch';
import { expectFallback } from './compare';

const make = () => [torch.ones([2])];

test('an op that may return its argument, which its schema does not say, gives no new tensor', () => {
  const made: (() => any)[] = [
    () => torch.tensor([1, 2]).toDense(),
    () => torch.tensor([1, 2]).sumToSize([2]),
    () => torch.einsum('i->i', [torch.tensor([1, 2])]),
    () => torch.tensor([1, 2]).dequantize(),
  ];
  for (const one of made) {
    expectFallback((a) => one().add_(a), make, /writes to a tensor that the function made/);
    expectFallback((a) => [a.neg(), one()], make, /returns a view of a tensor that it makes/);
  }
});
