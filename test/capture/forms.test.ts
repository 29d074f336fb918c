/** torch.capture: `this`, disposal, state and the form of the result, which a replay could change without a word. */
import { balanced, settled, thrown, torch } from '../support/torch';
import { expectFallback } from './compare';

test('a recording is for one `this`', () => {
  class Layer {
    readonly weight: any;
    constructor(value: number) {
      this.weight = torch.full([2], value);
    }
    forward(x: any): any {
      return x.mul(this.weight);
    }
  }
  balanced(() =>
    torch.scope(() => {
      const forward: any = torch.capture(Layer.prototype.forward);
      const [two, three] = [new Layer(2), new Layer(3)];
      const a = torch.ones([2]);
      for (let i = 0; i < 2; i++) {
        expect(forward.call(two, a).toArray()).toEqual([2, 2]);
        expect(forward.call(three, a).toArray()).toEqual([3, 3]);
      }
      expect([forward.recordings, forward.replays, forward.fallbacks]).toEqual([2, 4, 0]);
      forward.dispose();
    }),
  );
});

test('recordings of objects that are gone make room, and are not those of calls without `this`', async () => {
  const captured: any = torch.capture(function (this: { by: number } | undefined, a: any) {
    return a.mul(this?.by ?? 5);
  });
  const a = torch.ones([1]);
  const of = (...args: any[]) => torch.scope(() => captured.call(...args, a).item());
  const objects: WeakRef<object>[] = [];
  const call = (by: number) => {
    const self = { by };
    objects.push(new WeakRef(self));
    expect(of(self)).toBe(by);
  };
  for (let i = 0; i < 24; i++) {
    call(i);
    while (i % 8 === 7 && objects.some((one) => one.deref() !== undefined)) {
      await new Promise((resolve) => setImmediate(resolve)); // a WeakRef keeps its object until then
      settled();
    }
  }
  expect(of(undefined)).toBe(5);
  expect(captured.reason).toBe(null);
  expect([captured.recordings, captured.fallbacks]).toEqual([25, 0]);
  captured.dispose();
  a.dispose();
});

test('the reason names what the program calls', () => {
  const outside = torch.ones([3, 4]);
  const reason =
    /^torch\.autocast cannot be replayed: it reads a tensor's value, or changes state other than an op's result$/;
  expectFallback(
    (t) => torch.autocast({}, () => t.mul(outside)),
    () => [torch.ones([3, 4])],
    reason,
  );
  outside.dispose();
});

test('an argument that the function disposes: it runs itself', () => {
  for (const dispose of [(t: any) => t.dispose(), (t: any) => torch.disposeAll([t])]) {
    const fn = (t: any) => {
      const made = t.mul(2);
      dispose(t);
      return made;
    };
    balanced(() =>
      torch.scope(() => {
        const captured = torch.capture(fn);
        for (let call = 0; call < 2; call++) {
          const given = torch.ones([2]);
          expect((captured as any)(given).toArray()).toEqual([2, 2]);
          expect([given.disposed, captured.reason]).toEqual([true, 'it disposes an argument']);
        }
        captured.dispose();
      }),
    );
  }
});

test('a tensor of the function that is used after the call says what to write', () => {
  const start = torch.zeros([1]);
  let kept: any = start;
  const captured = torch.capture((t: any) => {
    kept = kept.add(t);
    return kept.mul(1);
  });
  torch.scope(() => captured(torch.ones([1])));
  expect(thrown(() => kept.neg())).toMatchObject({
    code: 'ERR_TORCH_PENDING',
    message: expect.stringMatching(/^torch\.capture: .*pass it as an argument of the next call$/),
  });
  start.dispose();
  captured.dispose();
});

test('results whose form a replay would change: the function runs itself', () => {
  class List extends Array {}
  const box = (value: any) => ({ value });
  const forms: [(t: any) => any, RegExp][] = [
    [(t) => Object.freeze([t.neg()]), /frozen/],
    [(t) => ({ [Symbol('s')]: t.neg() }), /symbol/],
    [(t) => List.from([t.neg()]), /neither an array nor a plain object/],
    [
      (t) => {
        const one = box(t.neg());
        return [one, one];
      },
      /one object in two places/,
    ],
    [
      (t) => ({
        get a() {
          return t.neg();
        },
      }),
      /'a' is an accessor/,
    ],
  ];
  for (const [fn, reason] of forms) expectFallback(fn, () => [torch.ones([3, 4])], reason);
  torch.scope(() => {
    const captured: any = torch.capture((t: any) => Object.assign([t.neg()], { length: 3 }));
    const [a] = [torch.ones([1])];
    for (let i = 0; i < 2; i++) expect(captured(a)).toHaveLength(3);
    expect(captured.reason).toBe(null);
    captured.dispose();
  });
});
