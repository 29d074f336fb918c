/** Captured functions that cannot be replayed and hide it: they catch the refusal, or what they write to looks new. */
import { inspect } from 'node:util';
import { balanced, torch } from '../support/torch';
import { expectFallback } from './compare';

const make = () => [torch.ones([2])];

test('a function that catches the refusal of a read runs itself', () => {
  const w = torch.ones([1]);
  const reads: [RegExp, (a: any) => unknown][] = [
    [/^aten::item cannot be replayed/, () => w.item()],
    [/^aten::equal cannot be replayed/, () => w.equal(w)],
    [/^(a read of a tensor from outside the function|toArray) cannot be replayed/, () => w.toArray()[0]],
    [/^strides: .* is not there yet/, (a) => a.isContiguous()],
    [/^a read of a tensor from outside the function cannot be replayed/, () => inspect(w).length],
    [/^grad cannot be replayed/, (a) => a.grad],
  ];
  for (const [reason, read] of reads) {
    const careful = (a: any) => {
      try {
        return a.mul(Number(read(a)) + 2);
      } catch {
        return a.neg();
      }
    };
    expectFallback(careful, make, reason);
  }
  w.dispose();
});

test('a function that starts a job runs itself, each time', async () => {
  let sum = 0;
  const jobs: Promise<unknown>[] = [];
  const captured = torch.capture((a: any) => {
    jobs.push(torch.run(() => torch.ones([1]).add(1)).then((two: any) => (sum += two.item())));
    jobs.push(torch.async.neg(torch.ones([1])).then((one: any) => (sum += one.item())));
    return a.neg();
  });
  for (let call = 0; call < 2; call++) captured(torch.ones([1]));
  expect(captured.reason).toMatch(/^it calls torch.run or torch.async$/);
  expect(jobs.length).toBe(4);
  await Promise.all(jobs);
  expect(sum).toBe(2);
  captured.dispose();
});

test('a function that catches what JavaScript refuses runs itself', () => {
  const w = torch.ones([1], { requiresGrad: true });
  const calls: [RegExp, (a: any) => unknown][] = [
    [/^it calls keep$/, (a) => torch.keep(a.neg()).dispose()],
    [/^it calls nn\.Parameter$/, (a) => new torch.nn.Parameter(a).dispose()],
    [/^it makes a parameter or a buffer$/, () => new torch.nn.Parameter(w).dispose()],
    [/^it calls autograd\.functional\.\w+$/, (a) => torch.autograd.functional.jacobian((x: any) => x.mul(2), a)],
  ];
  for (const [reason, call] of calls) {
    const careful = (a: any) => {
      try {
        call(a);
        return a.mul(2);
      } catch {
        return a.neg();
      }
    };
    expectFallback(careful, make, reason);
  }
  w.dispose();
});

test('a captured function that disposes of itself keeps nothing', () => {
  balanced(() =>
    torch.scope(() => {
      const w = torch.ones([3]);
      const captured = torch.capture((a: any) => {
        captured.dispose();
        return a.mul(w);
      });
      expect(captured(torch.ones([3])).toArray()).toEqual([1, 1, 1]);
      expect(captured.reason).toBe('it disposes of its own recordings');
      expect(() => captured(torch.ones([3]))).toThrow('the captured function was disposed');
    }),
  );
});

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
