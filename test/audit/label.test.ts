import { torch, untyped } from '../support/torch';

test('without an audit a label only runs its function', async () => {
  const { label } = torch.audit;
  expect(label('route', '/a', () => 5)).toBe(5);
  expect(label('route', 7)).toBeUndefined();
  await expect(label('route', '/a', async () => 'later')).resolves.toBe('later');
  const failure = new Error('mine');
  expect(() =>
    label('route', true, () => {
      throw failure;
    }),
  ).toThrow(failure);
});

test.each([
  [['', 'x'], /audit\.label.*name.*a non-empty string/],
  [[1, 'x'], /audit\.label.*name/],
  [['route'], /audit\.label.*value.*a string, number, bigint or boolean/],
  [['route', {}], /audit\.label.*value/],
  [['route', 'x', 5], /audit\.label.*fn.*a function/],
])('label(...%j) is refused', (args, message) => {
  let error: (Error & { code?: string }) | undefined;
  try {
    untyped.audit.label(...args);
  } catch (caught) {
    error = caught as Error;
  }
  expect(error).toMatchObject({ code: 'ERR_TORCH_ARGUMENT', message: expect.stringMatching(message) });
});
