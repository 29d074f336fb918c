/** Comparisons of captured functions with the functions themselves, for the tests of torch.capture. */
import { balanced, torch } from '../support/torch';

/** The bytes of each tensor in a result, with its shape and dtype. */
export function bits(value: any): unknown {
  if (value instanceof torch.Tensor) {
    const bytes = value.numel === 0 ? [] : [...new Uint8Array(value.detach().contiguous().toTypedArray().buffer)];
    return { shape: value.shape, dtype: value.dtype, requiresGrad: value.requiresGrad, bytes };
  }
  if (Array.isArray(value)) return value.map(bits);
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, bits(one)]));
  }
  return value;
}

/** Compares three calls with those of the function, each on tensors of its own, and expects replays. */
export function expectReplays(fn: (...args: any[]) => any, make: () => any[], seed = 7): void {
  balanced(() =>
    torch.scope(() => {
      const captured = torch.capture(fn);
      for (let call = 0; call < 3; call++) {
        const results = [fn, captured].map((one) => {
          torch.manualSeed(seed + call);
          const args = make();
          torch.manualSeed(seed + call);
          const result = one(...args);
          return { result: bits(result), args: bits(args) };
        });
        expect(captured.reason).toBe(null);
        expect(results[1]).toEqual(results[0]);
      }
      expect([captured.recordings, captured.replays, captured.fallbacks]).toEqual([1, 3, 0]);
      captured.dispose();
    }),
  );
}

/** Expects that the function runs itself, with its own results, for a reason that matches. */
export function expectFallback(fn: (...args: any[]) => any, make: () => any[], reason: RegExp): void {
  balanced(() =>
    torch.scope(() => {
      const captured = torch.capture(fn);
      for (let call = 0; call < 3; call++) {
        expect(bits(captured(...make()))).toEqual(bits(fn(...make())));
        expect(captured.reason).toMatch(reason);
      }
      expect([captured.replays, captured.fallbacks]).toEqual([0, 3]);
      captured.dispose();
    }),
  );
}
