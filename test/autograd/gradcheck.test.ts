/** gradcheck and gradgradcheck: right and wrong backwards, refusals, and what is left. */
import { balanced, codeOf, thrown, torch, untyped } from '../support/torch';

const { gradcheck, gradgradcheck } = torch.autograd;
const leaf = (values: any) => torch.tensor(values, { dtype: 'float64', requiresGrad: true });

/** x³, whose backward is `factor` times x². */
const cubed = (factor: number, power = 2) =>
  class extends torch.autograd.Function {
    static override forward(ctx: any, x: any) {
      ctx.saveForBackward(x);
      return x.pow(3);
    }
    static override backward(ctx: any, gradient: any) {
      const [x] = ctx.savedTensors;
      return gradient.mul(x.pow(power)).mul(factor);
    }
  } as any;

test('ops of torch pass, of one and of several inputs and results', () => {
  balanced(() => {
    torch.scope(() => {
      const x = leaf([0.5, -1.25, 2]);
      const y = leaf([
        [1, 2, 3],
        [0.25, -4, 0.125],
      ]);
      expect(gradcheck((a) => a.exp(), x)).toBe(true);
      expect(gradcheck((a, b) => [a.mul(b).sum(1), a.sin()], [x, y])).toBe(true);
      expect(gradcheck((a) => a.sort(0).values, [x])).toBe(true);
      expect(gradcheck((a) => [a.mul(2), a.argmax()], x)).toBe(true); // argmax has no gradient
      expect(gradgradcheck((a, b) => a.mul(b).tanh(), [x, y])).toBe(true);
      expect(gradgradcheck((a) => a.pow(3), x, torch.ones([3], { dtype: 'float64', requiresGrad: true }))).toBe(true);
      // Inputs that are not contiguous, and constants.
      expect(gradcheck((a, b) => a.matmul(b), [y.t(), torch.ones([2, 2], { dtype: 'float64' })])).toBe(true);
      expect([x.toArray(), x.grad]).toEqual([[0.5, -1.25, 2], null]);
    });
  });
});

test('a wrong backward is named by its place, or false', () => {
  balanced(() => {
    torch.scope(() => {
      const x = leaf([1, 2]);
      expect(gradcheck((a) => cubed(3).apply(a), x)).toBe(true);
      expect(gradgradcheck((a) => cubed(3).apply(a), x)).toBe(true);
      const error = thrown(() => gradcheck((a) => cubed(4).apply(a), x)) as any;
      expect([error.code, error.op]).toEqual(['ERR_TORCH_RUNTIME', 'autograd.gradcheck']);
      expect(error.message).toMatch(
        /derivative of output 0 at \[0\] with respect to inputs\[0\] at \[0\]: expected 3 \(finite differences\), got 4$/,
      );
      expect(gradcheck((a) => cubed(4).apply(a), x, { raiseException: false })).toBe(false);
      expect(gradcheck((a) => cubed(4).apply(a), x, { rtol: 0.5 })).toBe(true);
      expect(() => gradcheck((a) => cubed(4).apply(a), leaf(2))).toThrow(
        /output 0 with respect to inputs\[0\]: expected 12 .*got 16$/,
      );
      const second = (a: any, b: any) => [a.sum(), cubed(4).apply(b)];
      expect(() => gradcheck(second, [torch.ones([2], { dtype: 'float64' }), leaf([[0, 2]])])).toThrow(
        /output 1 at \[0, 1\] with respect to inputs\[1\] at \[0, 1\]: expected 12 /,
      );
      // The second derivative only: x² by a detached x.
      const flat = (a: any) => a.mul(a.detach()).add(a.detach().mul(a)).mul(0.5);
      expect(gradcheck(flat, x, { raiseException: false })).toBe(false);
      expect(gradgradcheck((a) => cubed(3, 1).apply(a), x, { raiseException: false, rtol: 1e-3 })).toBe(true);
      expect(() => gradcheck((a) => a.detach().mul(2), x)).toThrow(
        /at \[0\]: expected 2 \(finite differences\), got 0$/,
      );
    });
  });
});

test('a backward that differs from run to run is refused up to nondetTol', () => {
  torch.scope(() => {
    let runs = 0;
    class Wobbly extends torch.autograd.Function {
      static override forward(_: any, x: any) {
        return x.mul(2);
      }
      static override backward(_: any, gradient: any) {
        return gradient.mul(2 + 1e-7 * runs++);
      }
    }
    const x = leaf([1]);
    const f = (a: any) => (Wobbly as any).apply(a);
    expect(() => gradcheck(f, x)).toThrow(/expected the same from a second backward, got 2 and 2\.0000001/);
    expect(gradcheck(f, x, { nondetTol: 1e-3 })).toBe(true);
  });
});

test('refusals, and a function that throws in the middle leaves the input as it was', () => {
  balanced(() => {
    torch.scope(() => {
      const { gradcheck: any } = untyped.autograd;
      const x = leaf([1, 2]);
      const f = (a: any) => a.exp();
      for (const wrong of [[f], [f, 1], [f, []], [f, torch.ones([2])], [1, x], [() => 1, x]])
        expect([String(wrong[0]), codeOf(() => any(...wrong))]).toEqual([String(wrong[0]), 'ERR_TORCH_ARGUMENT']);
      for (const options of [
        { eps: 0 },
        { eps: '1' },
        { atol: -1 },
        { rtol: Number.NaN },
        { raiseException: 1 },
        { unknown: 1 },
      ])
        expect([options, codeOf(() => any(f, x, options))]).toEqual([options, 'ERR_TORCH_ARGUMENT']);
      expect(codeOf(() => any(async () => x, x))).toBe('ERR_TORCH_ASYNC_MODE');
      const complex = torch.ones([1], { dtype: 'complex128', requiresGrad: true });
      expect(() => gradcheck((a) => a.mul(2), complex)).toThrow(/expected a strided Tensor of real numbers/);
      const expanded = leaf([1]).expand([3]);
      expect(() => gradcheck((a) => a.mul(2), expanded)).toThrow(/elements have memory of their own/);
      let calls = 0;
      const late = (a: any) => {
        if (++calls === 3) throw new Error('third');
        return a.exp();
      };
      expect(() => gradcheck(late, x)).toThrow('third');
      expect(x.toArray()).toEqual([1, 2]);
    });
  });
});
