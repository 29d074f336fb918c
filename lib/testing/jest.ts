/**
 * `import 'libtorch-node/jest'` adds `await expect(fn).not.toLeakTensors({ iterations, warmup })`, which tests whether
 * repeated calls of `fn` leave tensors behind that a collection does not free.
 */
import { type LeakOptions, toLeakTensors } from './index';

export type { LeakOptions } from './index';

type Expect = { extend(matchers: Record<string, unknown>): void };
const { expect } = globalThis as { expect?: Expect };
if (expect === undefined) throw new Error("libtorch-node/jest: there is no global 'expect'; import it in a Jest test");
expect.extend({ toLeakTensors });

declare global {
  namespace jest {
    // biome-ignore lint/complexity/noBannedTypes: Jest's own parameters have to be repeated for the merge
    interface Matchers<R, T = {}> {
      /** Whether repeated calls of the function leave more and more tensors behind. Await it. */
      toLeakTensors(options?: LeakOptions): Promise<R>;
    }
  }
}

/** The matchers of `import { expect } from '@jest/globals'`. */
declare module 'expect' {
  interface Matchers<R extends void | Promise<void>, T = unknown> {
    /** Whether repeated calls of the function leave more and more tensors behind. Await it. */
    toLeakTensors(options?: LeakOptions): Promise<R>;
  }
}
