/** Lists of results whose length follows from a shape that the program changes after the call, before the op runs. */
import { failure } from '../support/async';
import { balancedAsync, torch, untyped } from '../support/torch';

const changes: Record<string, (w: any) => void> = {
  'resize_ to nothing': (w) => w.resize_([0, 2]),
  'resize_ to fewer': (w) => w.resize_([2, 2]),
  'resize_ to more': (w) => w.resize_([100, 2]),
  t_: (w) => w.t_(),
  set_: (w) => w.set_(torch.ones([3])),
  setData: (w) => w.setData(torch.ones([1, 2])),
};

test.each(Object.keys(changes))('%s: an error, or the results of the shape at the call', async (name) => {
  await balancedAsync(() =>
    torch.scope(async () => {
      for (const op of ['unbind', 'split', 'chunk']) {
        const more = op === 'unbind' ? [0] : op === 'split' ? [1] : [5];
        for (const ways of [
          (w: any) => untyped.async[op](w, ...more),
          (w: any) => untyped.run(() => w[op](...more)),
          (w: any) => untyped.run((t: any) => t.add(w[op](...more)[4], 1)),
        ]) {
          const w = torch.ones([5, 2]);
          const promise = ways(w);
          promise.catch(() => {});
          changes[name]!(w);
          // The pool may have been faster than the change.
          const end: any = await promise.then(
            (all: any) => all,
            () => failure(promise),
          );
          // An error of this library or of the op itself, or as many results as when it was called.
          if (typeof end.code === 'string') expect(end.code).toMatch(/^ERR_TORCH_(RUNTIME|INDEX)$/);
          else expect(Array.isArray(end) ? end.length : 5).toBe(5);
        }
      }
    }),
  );
});
