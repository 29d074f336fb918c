/** Wrong arguments of hand-written functions: a coded error that names them, and no tensor left. */
import { thrown, torch } from './torch';

/** Values of every type, for arguments that none of them fits. */
export const wrong: unknown[] = [
  ...[undefined, null, Number.NaN, 'x', Symbol('s'), true],
  ...[[Symbol('s')], Object.create(null), () => 1],
];

export const ARGUMENT = 'ERR_TORCH_ARGUMENT';

export function refused(
  call: (value: any) => unknown,
  values: readonly unknown[],
  code: string,
  message: RegExp,
): void {
  for (const value of values) {
    const error = thrown(() => torch.scope(() => void call(value))) as any;
    expect([value, error.code, error.message]).toEqual([value, code, expect.stringMatching(message)]);
  }
}
