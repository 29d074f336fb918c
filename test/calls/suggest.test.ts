/** Unknown options: the message suggests a similar option, if there is one. */
import * as path from 'node:path';
import { balanced, LIB, thrown, torch, untyped } from '../support/torch';

const { nearest } = require(path.join(LIB, 'errors/suggest.js')) as {
  nearest(name: string, known: Iterable<string>): string | undefined;
};

test('ops and functions', () => {
  balanced(() =>
    torch.scope(() => {
      const x = torch.ones([2, 3]);
      const cases: [() => unknown, RegExp | null][] = [
        [() => untyped.sum(x, { dim: [1], keepdims: true }), /there is no option 'keepdims'; did you mean 'keepdim'\?/],
        [() => (x as any).sum({ dim: [1], keep_dim: true }), /no option 'keep_dim'; did you mean 'keepdim'\?/],
        [() => untyped.zeros([2], { dytpe: 'int64' }), /no option 'dytpe'; did you mean 'dtype'\?/],
        [() => untyped.zeros([2], { requires_grad: true }), /'requires_grad'; did you mean 'requiresGrad'\?/],
        [() => untyped.add(x, x, { alhpa: 2 }), /no option 'alhpa'; did you mean 'alpha'\?/],
        [() => untyped.ops.aten.add.Tensor(x, x, { alpah: 2 }), /no option 'alpah'; did you mean 'alpha'\?/],
        [() => untyped.nn.functional.interpolate(x, { alignCorner: true }), /did you mean 'alignCorners'\?/],
        [() => untyped.tensor([1], { dtyp: 'int64' }), /got 'dtyp'; did you mean 'dtype'\?/],
        [() => untyped.backward(x, { retain_graph: true }), /got 'retain_graph'; did you mean 'retainGraph'\?/],
        [() => untyped.sum(x, { banana: 1 }), null],
        [() => untyped.tensor([1], { banana: 1 }), null],
      ];
      for (const [call, expected] of cases) {
        const { code, message } = thrown(call);
        expect(['ERR_TORCH_OVERLOAD', 'ERR_TORCH_ARGUMENT']).toContain(code);
        if (expected === null) expect(message).not.toContain('did you mean');
        else expect(message).toMatch(expected);
      }
    }),
  );
});

test('similar names: letters changed, added, omitted or exchanged; capitals and underscores are ignored', () => {
  const known = ['dim', 'keepdim', 'dtype', 'alignCorners', 'p'];
  const cases: [string, string | undefined][] = [
    ['dims', 'dim'],
    ['dmi', 'dim'],
    ['axis', undefined],
    ['kepdim', 'keepdim'],
    ['KEEPDIM', 'keepdim'],
    ['align_corners', 'alignCorners'],
    ['dtpye', 'dtype'],
    ['x'.repeat(10_000), undefined],
    ['', undefined],
    ['q', undefined],
    ['__proto__', undefined],
  ];
  for (const [name, expected] of cases)
    expect([name.slice(0, 20), nearest(name, known)]).toEqual([name.slice(0, 20), expected]);
  expect(nearest('a', [])).toBeUndefined();
});
