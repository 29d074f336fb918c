/** The cost of following scopes: no leaks, hooks only while needed, one state for all copies. */
import * as path from 'node:path';
import { ask } from '../support/child';
import { LIB } from '../support/torch';

test('10,000 async scopes do not leak tensors or objects of the library', async () => {
  const { grown, left } = await ask(
    `
    const one = () => torch.scope(async () => { torch.ones([4]); await null; torch.ones([4]); });
    const two = async () => { const s = torch.openScope(); torch.ones([4]); await null; s.close(); };
    const round = async () => {
      for (let i = 0; i < 10000; i++) { await one(); await two(); }
      await new Promise((resolve) => setTimeout(resolve, 5));
      gc(); gc();
      return process.memoryUsage().heapUsed;
    };
    (async () => {
      await round();
      const before = await round();
      answer({ grown: (await round()) - before, left: counts().tensors });
    })();`,
    ['--expose-gc'],
  );
  expect(left).toBe(0);
  expect(grown).toBeLessThan(400_000); // 20 bytes each; one scope object is larger
});

test('hooks are on only while a waiting scope is open, and synchronous scopes stop switching them on', async () => {
  const answers = await ask(`
    // Node gives promises an async id while hooks are on.
    const watched = () => Object.getOwnPropertySymbols(Promise.resolve()).some((symbol) => /async_id/.test(String(symbol)));
    const awaits = async () => {
      for (let i = 0; i < 1000; i++) await null;
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    };
    (async () => {
      for (let i = 0; i < 10000; i++) torch.scope(() => {});
      const seen = [];
      for (let i = 0; i < 120; i++) {
        torch.scope(() => seen.push(watched()));
        await awaits();
      }
      if (seen.lastIndexOf(true) !== 99) throw new Error('the trials ended at ' + seen.lastIndexOf(true));
      seen.length = 0;
      seen.push(watched());
      torch.scope(() => seen.push(watched()));
      await torch.scope(async () => {
        await awaits();
        seen.push(watched());
      });
      await awaits();
      seen.push(watched());
      await (async () => {
        const s = torch.openScope();
        await awaits();
        seen.push(watched());
        s.close();
      })();
      await awaits();
      seen.push(watched());
      answer(seen);
    })();`);
  expect(answers).toEqual([false, false, true, false, true, false]);
});

test('copies of the library over one addon, as in Jest, share the current scope', async () => {
  const seen = await ask(`
    for (const file of Object.keys(require.cache)) if (!file.endsWith('.node')) delete require.cache[file];
    const copy = require(${JSON.stringify(path.join(LIB, 'index.js'))});
    if (copy === torch) throw new Error('no copy');
    const tick = () => new Promise((resolve) => setImmediate(resolve));
    async function opens() {
      const s = copy.openScope();
      const before = torch.ones([1]);
      await tick();
      const after = torch.ones([1]);
      s.close();
      return [before.disposed, after.disposed];
    }
    async function main() {
      let mine;
      const pending = torch.scope(async () => {
        mine = [copy.ones([1])];
        await tick();
        mine.push(copy.ones([1]), copy.scope((s) => s.parent.run(() => torch.ones([2]))));
        await tick();
        return mine.map((t) => t.disposed);
      });
      const outside = copy.ones([1]);
      answer([await pending, mine.map((t) => t.disposed), await opens(), outside.disposed, counts().tensors]);
    }
    main();`);
  expect(seen).toEqual([[false, false, false], [true, true, true], [true, true], false, 1]);
});
