/** torch.utils.assertFinite. */
import { codeOf, thrown, torch, untyped } from '../support/torch';

const { assertFinite } = torch.utils;

test('a finite loss is returned as a number', () => {
  expect(assertFinite(torch.tensor(0.5))).toBe(0.5);
  expect(assertFinite(torch.tensor([[-2]], { dtype: 'bfloat16' }), 3)).toBe(-2);
  expect(assertFinite(torch.tensor(4n))).toBe(4);
  expect(assertFinite(1e300, 0)).toBe(1e300);
});

test.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])('%d is an error with the step', (value) => {
  for (const loss of [value, torch.tensor(value)]) {
    const { code, message, step } = thrown(() => assertFinite(loss, 12)) as { step?: number } & ReturnType<
      typeof thrown
    >;
    expect({ code, message, step }).toEqual({
      code: 'ERR_TORCH_NOT_FINITE',
      message: `utils.assertFinite: expected a finite loss at step 12, got ${value}`,
      step: 12,
    });
  }
  const error = thrown(() => assertFinite(value));
  expect(error.message).toBe(`utils.assertFinite: expected a finite loss, got ${value}`);
  expect(error).not.toHaveProperty('step');
});

test('other arguments are refused', () => {
  const z = untyped.viewAsComplex(torch.ones([2]));
  for (const args of [[torch.ones([2])], [z], ['1'], [null], [], [1, 1.5], [1, '2'], [1, 2, 3]])
    expect([args, codeOf(() => (assertFinite as any)(...args))]).toEqual([args, 'ERR_TORCH_ARGUMENT']);
});
