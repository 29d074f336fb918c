/** Scopes and asynchronous code: each continuation keeps its own scope, whatever runs in between. */
import { writeFileSync } from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import * as esbuild from 'esbuild';
import { ask, run } from '../support/child';
import { balancedAsync, codeOf, LIB, ROOT, settled, torch } from '../support/torch';

afterAll(() => esbuild.stop());

const before = settled().tensors;

const ones = () => torch.ones([8]);
const tick = (ms = 0) => new Promise((resolve) => setTimeout(resolve, ms));
const read = (file: string) =>
  require('node:fs').readFileSync(path.join(ROOT, 'test/lifetimes/programs', file), 'utf8');

/** Runs a program of this folder, compiled for Node 20, which lacks `using`. */
async function interleaved(seed: number): Promise<any> {
  const { code } = esbuild.transformSync(read('interleaved.ts'), { loader: 'ts', target: 'node20', format: 'cjs' });
  const file = path.join(os.tmpdir(), `interleaved-${process.pid}-${seed}.cjs`);
  writeFileSync(file, code);
  try {
    const { stdout, stderr, code: status } = await run(process.execPath, [file, LIB, String(seed)]);
    expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
    return JSON.parse(/^ANSWER (.*)$/m.exec(stdout)![1]!);
  } finally {
    require('node:fs').rmSync(file);
  }
}

describe('1,000 interleaved tasks in scopes of every kind', () => {
  const first = Math.floor(Math.random() * 1e9);
  test.each([1, 2, first])('seed %i', async (seed) => {
    const { failures, statistics, left } = await interleaved(seed);
    expect({ seed, failures, left }).toEqual({ seed, failures: [], left: 0 });
    expect(statistics.ended).toBeGreaterThan(1000);
    for (const count of Object.values(statistics)) expect(count).toBeGreaterThan(10);
  });
});

describe('openScope in an async function', () => {
  test('is current only in the function, also before its first await', async () => {
    await balancedAsync(async () => {
      const made: any[] = [];
      async function task(): Promise<void> {
        using _ = torch.openScope();
        const mine = [ones()];
        await tick(1);
        mine.push(ones());
        await tick(1);
        expect(mine.every((t) => !t.disposed)).toBe(true);
        made.push(...mine);
      }
      const pending = task();
      const outside = ones();
      const also = task();
      const outsideToo = ones();
      await Promise.all([pending, also]);
      expect(made.map((t) => t.disposed)).toEqual([true, true, true, true]);
      expect([outside.disposed, outsideToo.disposed]).toEqual([false, false]);
      torch.disposeAll([outside, outsideToo]);
    });
  });

  test('plain values, thenables and rejections are awaited alike', async () => {
    await balancedAsync(async () => {
      for (const value of [
        () => 5,
        () => undefined,
        // biome-ignore lint/suspicious/noThenProperty: a thenable
        () => ({ then: (go: any) => go() }),
        () => Promise.reject(new Error()),
      ]) {
        let inside: any;
        const task = async () => {
          await using _ = torch.openScope();
          await Promise.resolve(value()).catch(() => {});
          const before = ones();
          await (value() as Promise<unknown>);
          inside = ones();
          expect(before.disposed).toBe(false);
        };
        const pending = task();
        const outside = ones();
        await pending.catch(() => {});
        if (inside !== undefined) expect(inside.disposed).toBe(true);
        expect(outside.disposed).toBe(false);
        outside.dispose();
      }
    });
  });

  test('the work of a lazy thenable, such as a query builder, is in the scope of the function that returned it', async () => {
    await balancedAsync(async () => {
      const made: any[] = [];
      let calls = 0;
      const query = {
        // biome-ignore lint/suspicious/noThenProperty: a thenable
        then(go: (value: unknown) => void) {
          calls++;
          made.push(ones());
          setTimeout(() => {
            made.push(ones());
            go(made[1].add(1));
          }, 1);
        },
      };
      const pending = torch.scope(() => query) as unknown as Promise<any>;
      const outside = ones();
      const result = await pending;
      expect(calls).toBe(1);
      expect(made.map((t) => t.disposed)).toEqual([true, true]);
      expect([outside.disposed, result.disposed]).toEqual([false, false]);
      torch.disposeAll([outside, result]);
    });
  });

  test('a waiting callee, or a new promise, does not take the scope from the caller', async () => {
    await balancedAsync(async () => {
      let mine: any[] = [];
      const callee = async () => {
        await tick(1);
        return ones();
      };
      async function task(): Promise<void> {
        using _ = torch.openScope();
        const pending = callee();
        mine = [ones()];
        const chained = tick(1).then(() => mine.push(ones()));
        mine.push(ones());
        void import('node:fs');
        mine.push(ones());
        await new Promise((resolve) => setImmediate(resolve));
        mine.push(await pending, ones());
        await chained;
      }
      await task();
      expect(mine.map((t) => t.disposed)).toEqual(Array(6).fill(true));
    });
  });

  test('recursion: each activation has its own scope', async () => {
    await balancedAsync(async () => {
      const made: any[][] = [];
      async function task(level: number): Promise<void> {
        if (level % 2 === 1) {
          await tick();
          return task(level + 1);
        }
        using _ = torch.openScope();
        const mine = [ones()];
        made.push(mine);
        const inner = level < 6 ? task(level + 1) : undefined;
        mine.push(ones());
        await tick();
        mine.push(ones());
        await inner;
        expect(mine.every((t) => !t.disposed)).toBe(true);
      }
      await task(0);
      expect(made.flat().every((t) => t.disposed)).toBe(true);
      expect(made).toHaveLength(4);
    });
  });

  test('compiled to generators, as for ES2015', async () => {
    const source = `
      const torch = require('${LIB}/index.js');
      const made = [];
      async function task() {
        const s = torch.openScope();
        made.push(torch.ones([2]));
        await new Promise((resolve) => setTimeout(resolve, 1));
        made.push(torch.ones([2]));
        s.close();
      }
      const pending = task();
      const outside = torch.ones([2]);
      Promise.all([pending, task()]).then(() => {
        console.log('ANSWER ' + JSON.stringify([made.map((t) => t.disposed), outside.disposed, torch.memory().tensors]));
      });`;
    const { code } = esbuild.transformSync(source, { target: 'es2016' });
    expect(code).toContain('yield');
    const { stdout } = await run(process.execPath, ['-e', code]);
    expect(stdout).toBe('ANSWER [[true,true,true,true],false,1]\n');
  });

  test('opened by a helper, it belongs to the helper’s caller', async () => {
    await balancedAsync(async () => {
      let inside: any[] = [];
      const begin = () => torch.openScope();
      const task = async () => {
        const s = begin();
        inside = [ones()];
        await tick(1);
        inside.push(ones());
        s.close();
      };
      const pending = task();
      const outside = ones();
      await pending;
      expect(inside.map((t) => t.disposed)).toEqual([true, true]);
      expect(outside.disposed).toBe(false);
      outside.dispose();
    });
  });

  test('left open by a callback, it is current only in the callback’s continuations', async () => {
    await balancedAsync(async () => {
      const made: any[] = [];
      const done = new Promise<void>((resolve) => {
        setTimeout(() => {
          const s = torch.openScope();
          made.push(ones());
          setTimeout(() => {
            made.push(ones());
            s.close();
            resolve();
          }, 5);
        });
      });
      await tick(2);
      const outside = ones();
      await done;
      expect(made.map((t) => t.disposed)).toEqual([true, true]);
      expect(outside.disposed).toBe(false);
      outside.dispose();
    });
  });

  test('left open by the main script, it is not current in later callbacks', async () => {
    const answers = await ask(`
      const s = torch.openScope();
      const mine = torch.ones([1]);
      const registry = [];
      setTimeout(() => {
        s.close();
        answer([mine.disposed, registry.map((t) => t.disposed)]);
      }, 20);
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => { registry.push(torch.ones([1])); port1.close(); };
      port2.postMessage(1);
    `);
    expect(answers[0]).toBe(true);
  });
});

describe('scopes around scopes', () => {
  test('a scope whose code waits outlives its parent, and then belongs to the next outer scope', async () => {
    await balancedAsync(async () => {
      let outer: any;
      const inside: any[] = [];
      let seen: unknown[] = [];
      let pending: Promise<any> | undefined;
      const around = torch.openScope();
      torch.scope((s) => {
        outer = s;
        pending = torch.scope(async (inner) => {
          inside.push(ones());
          await tick(1);
          seen = [outer.closed, inner.closed, inside[0].disposed, inner.parent === around];
          inside.push(ones());
          return ones();
        });
      });
      const result = await pending;
      expect(seen).toEqual([true, false, false, true]);
      expect(inside.map((t) => t.disposed)).toEqual([true, true]);
      expect(result.disposed).toBe(false);
      around.close();
      expect(result.disposed).toBe(true);
    });
  });

  test('a scope that is not closed ends with its parent: the same function', async () => {
    await balancedAsync(async () => {
      let inner: any;
      await torch.scope(async () => {
        inner = torch.openScope();
        ones();
        await tick();
        torch.openScope();
        ones();
        await tick();
        ones();
      });
      expect(inner.closed).toBe(true);
      const task = async () => {
        using _ = torch.openScope();
        torch.openScope();
        ones();
        await tick();
        torch.openScope();
        ones();
      };
      await Promise.all([task(), task()]);
    });
  });

  test('not closed by another task, it ends when it becomes unreachable', async () => {
    const left = await ask(
      `
      const tick = () => new Promise((resolve) => setImmediate(resolve));
      const open = [];
      async function forgets() { open.push(torch.openScope()); torch.ones([3]); await tick(); torch.ones([3]); }
      async function main() {
        await torch.scope(async () => { await forgets(); await tick(); });
        const after = counts().tensors;
        open.length = 0;
        while (counts().tensors > 0) { gc(); await tick(); }
        answer([after, counts().tensors]);
      }
      main();`,
      ['--expose-gc'],
    );
    expect(left).toEqual([2, 0]);
  });

  test('tensors made after the end of their scope belong to the next outer scope, or to the collector', async () => {
    const outer = torch.openScope();
    const late: any[] = [];
    await torch.scope(async () => {
      setTimeout(() => late.push(ones()), 1);
    });
    await tick(5);
    expect(late[0].disposed).toBe(false);
    outer.close();
    expect(late[0].disposed).toBe(true);
    await torch.scope(async () => {
      setTimeout(() => late.push(ones()), 1);
    });
    await tick(5);
    expect(late[1].disposed).toBe(false);
    late[1].dispose();
  });
});

describe('a scope passed to other code', () => {
  test('run: tensors of fn belong to the scope, from anywhere, before and after an await', async () => {
    await balancedAsync(async () => {
      const s = torch.openScope();
      const made: any[] = [];
      torch.scope((inner) => {
        expect(inner.parent).toBe(s);
        made.push(inner.parent!.run(() => ones()));
        made.push(ones());
      });
      expect(made.map((t) => t.disposed)).toEqual([false, true]);
      await torch.scope(async () => {
        await tick();
        const pending = s.run(async (same) => {
          expect(same).toBe(s);
          await tick();
          return ones();
        });
        const mine = ones();
        made.push(await pending, mine);
      });
      expect(made.map((t) => t.disposed)).toEqual([false, true, false, true]);
      s.close();
      expect(made.every((t) => t.disposed)).toBe(true);
    });
  });

  test('run: errors pass, and the previous scope is current again', () => {
    const s = torch.openScope();
    torch.scope(() => {
      expect(() =>
        s.run(() => {
          throw new RangeError();
        }),
      ).toThrow(RangeError);
      const t = ones();
      s.close();
      expect(t.disposed).toBe(true); // the block is inside s
    });
  });

  test('ended scopes are refused', async () => {
    const s = torch.openScope();
    expect(s.parent).toBe(null);
    await s[Symbol.asyncDispose]();
    expect(s.closed).toBe(true);
    expect(codeOf(() => s.run(ones))).toBe('ERR_TORCH_SCOPE');
    expect(codeOf(() => s.move(1))).toBe('ERR_TORCH_SCOPE');
    expect(codeOf(() => new (torch.Scope as any)())).toBe('ERR_TORCH_ARGUMENT');
    s.close();
  });
});

test('counts do not change', () => {
  expect(settled().tensors).toBeLessThanOrEqual(before); // fewer if garbage of another file in this process was freed
});
