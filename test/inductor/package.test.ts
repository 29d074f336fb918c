/** Models compiled by PyTorch: results, lifetimes, refusals. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { ask, program } from '../support/child';
import { loadsPackages, packagesCheckInputs } from '../support/release';
import { balanced, balancedAsync, codeOf, counts, settled, thrown, torch, untyped } from '../support/torch';
import { expectSame, load, makePackages, PACKAGES_MS, pathOf, removePackages, valuesOf } from './models';
import { repacked, zipOf } from './repacked';

/** Without support there is one test; archive.test.ts covers the rest. */
const without = () => {
  test('this libtorch does not load packages', () => {
    expect(codeOf(() => torch.inductor.aotiLoadPackage('model.pt2'))).toBe('ERR_TORCH_NOT_IMPLEMENTED');
  });
};

/** The folders of unpacked packages, and how often the library is mapped. */
const FOLDERS = `
  const fs = require('node:fs');
  const os = require('node:os');
  const path = require('node:path');
  process.env.TMPDIR = fs.mkdtempSync(path.join(os.tmpdir(), 'ltn-inductor-own-'));
  const left = () => fs.readdirSync(process.env.TMPDIR);
  process.on('exit', () => fs.rmSync(process.env.TMPDIR, { recursive: true, force: true }));
`;

const withPackages = () => {
  beforeAll(makePackages, PACKAGES_MS);
  afterAll(removePackages);

  test.each(['mlp', 'nested', 'writer'])('%s gives PyTorch’s results', (name) => {
    balanced(() =>
      torch.scope(() => {
        const { inputs, named, output } = valuesOf(name);
        const model = load(name);
        const args = Object.keys(named).length === 0 ? inputs : [...inputs, named];
        expectSame(model.forward(...args), output);
      }),
    );
  });

  test('metadata and inspection', () => {
    const model = load('mlp');
    expect(model.metadata.AOTI_DEVICE_KEY).toBe('cpu');
    expect(Object.isFrozen(model.metadata)).toBe(true);
    expect(require('node:util').inspect(model)).toBe('AotiPackage { model }');
    model.dispose();
    expect(require('node:util').inspect(model)).toBe('AotiPackage { disposed }');
    expect(model.metadata.AOTI_DEVICE_KEY).toBe('cpu');
  });

  test('batches of any size within the compiled range', () => {
    torch.scope(() => {
      const model = load('mlp');
      const all = torch.randn([7, 6]);
      const wanted = model.forward(all);
      for (let i = 0; i < 7; i++) expectSame(model.forward(all.narrow(0, i, 1)), wanted.narrow(0, i, 1));
      expect(model.forward(torch.randn([300, 6])).shape).toEqual([300, 3]);
    });
  });

  test('its writes are seen', () => {
    torch.scope(() => {
      const model = load('writer');
      const x = torch.zeros([4]);
      for (let i = 1; i <= 3; i++) {
        const [doubled, sum] = model.forward<any>(x);
        expect(x.toArray()).toEqual([i, i, i, i]);
        expect(doubled.toArray()).toEqual([2 * i, 2 * i, 2 * i, 2 * i]);
        expect(sum.item()).toBe(4 * i);
      }
    });
  });

  test('results outlive the package, also those in its own memory', () => {
    const { inputs, named, output } = valuesOf('nested');
    const model = load('nested');
    const result: any = model.forward(...inputs, named);
    model.dispose();
    expectSame(result, output);
    expect(result.same.toArray()).toEqual(inputs[0].toArray());
    torch.disposeAll([inputs, named, output, result]);
  });

  test('wrong arguments', () => {
    balanced(() =>
      torch.scope(() => {
        const model = load('mlp');
        const [x, gone] = [torch.ones([2, 6]), torch.ones([2, 6])];
        gone.dispose();
        const refused = (...args: any[]) => thrown(() => model.forward(...args));
        expect(refused()).toMatchObject({ code: 'ERR_TORCH_ARGUMENT', op: 'AotiPackage.forward' });
        expect(refused().message).toContain('takes 1 argument, got 0');
        expect(refused(x, x).message).toContain('takes 1 argument, got 2');
        expect(refused([x])).toMatchObject({ code: 'ERR_TORCH_ARGUMENT', argument: 'argument 1' });
        expect(refused(3).message).toContain('takes 1 tensors in all, got 0');
        expect(refused(gone)).toMatchObject({ code: 'ERR_TORCH_DISPOSED', argument: 'input_0' });
        expect(refused(x.to('meta'))).toMatchObject({ code: 'ERR_TORCH_ARGUMENT', argument: 'input_0' });
        expect(refused(x.toSparse()).message).toContain('expected a strided tensor on the CPU');
        const { inputs, named } = valuesOf('nested');
        const nested = load('nested');
        const { scale } = named;
        expect(thrown(() => nested.forward(...inputs)).message).toContain('the last one an object with scale, extra');
        expect(thrown(() => nested.forward(...inputs, { scale })).message).toContain("'argument 4.extra'");
        expect(thrown(() => untyped.inductor.AotiPackage.prototype.forward.call({}, x)).message).toContain("'this'");
        expect(model.forward(x).shape).toEqual([2, 3]);
      }),
    );
  });

  const whatIsChecked = packagesCheckInputs
    ? 'wrong dtypes, sizes and strides'
    : 'of this libtorch nobody knows dtypes';
  test(whatIsChecked, () => {
    balanced(() =>
      torch.scope(() => {
        const model = load('mlp');
        const refused = (x: any) => {
          const error = thrown(() => model.forward(x));
          expect(error).toMatchObject({ code: 'ERR_TORCH_ARGUMENT', op: 'AotiPackage.forward', argument: 'input_0' });
          return error.message;
        };
        const wanted = 'expected float32[0..1024, 6] with strides [6, 1], got';
        for (const [bad, got] of packagesCheckInputs
          ? ([
              [torch.ones([2, 6], { dtype: 'float64' }), 'float64[2, 6] with strides [6, 1]'],
              [torch.ones([2, 7]), 'float32[2, 7] with strides [7, 1]'],
              [torch.ones([6]), 'float32[6] with strides [1]'],
              [torch.ones([2000, 6]), 'float32[2000, 6] with strides [6, 1]'],
              [torch.ones([6, 2]).t(), 'float32[2, 6] with strides [1, 2]'],
              [torch.ones([1, 1]).expand([2, 6]), 'float32[2, 6] with strides [0, 0]'],
            ] as const)
          : []) {
          expect(refused(bad)).toContain(`${wanted} ${got}`);
        }
        expect(model.forward(torch.ones([2, 6])).shape).toEqual([2, 3]);
        expect(model.forward(torch.ones([0, 6])).shape).toEqual([0, 3]);
      }),
    );
  });

  test('failing code is an error each time, and leaks nothing', async () => {
    // From 2.7 on the code itself refuses a batch of one if checks are enabled; earlier versions refuse another dtype.
    const { code: end, answer: found } = await program(`
      process.env.AOTI_RUNTIME_CHECK_INPUTS = '1';
      const model = torch.inductor.aotiLoadPackage(${JSON.stringify(pathOf('mlp'))});
      const bad = () => ${packagesCheckInputs} ? torch.ones([1, 6]) : torch.ones([2, 6], { dtype: 'float64' });
      const failure = () => torch.scope(() => {
        try {
          return model.forward(bad()).shape;
        } catch ({ code, op, message }) {
          return [code, op, message];
        }
      });
      const first = failure();
      const before = { ...counts(), allocated: torch.memory().allocatedBytes };
      for (let i = 0; i < 100; i++) failure();
      const after = { ...counts(), allocated: torch.memory().allocatedBytes };
      const good = torch.scope(() => model.forward(torch.ones([2, 6])).shape);
      answer({ first, before, after, good });
    `);
    expect(end).toBe(0); // with libtorch's message on stderr
    const [code, op, message] = found.first;
    expect([code, op]).toEqual(['ERR_TORCH_RUNTIME', 'AotiPackage.forward']);
    expect(message).toContain(
      packagesCheckInputs ? 'expected it to be >= 2, but got: 1' : 'wrote the reason to stderr',
    );
    expect(message).toContain('\n  with input_0: float');
    expect(found.after).toEqual(found.before);
    expect(found.good).toEqual([2, 3]);
  });

  test('the memory limit', () => {
    settled(); // frees garbage of other tests before the limit
    torch.scope(() => {
      const model = load('mlp');
      const x = torch.ones([1000, 6]);
      const { allocatedBytes } = torch.memory();
      torch.setMemoryLimit(allocatedBytes + 4096);
      try {
        for (let i = 0; i < 3; i++) {
          expect(codeOf(() => torch.scope(() => void model.forward(x)))).toBe('ERR_TORCH_MEMORY_LIMIT');
        }
      } finally {
        torch.setMemoryLimit(null);
      }
      expect(torch.memory().allocatedBytes).toBe(allocatedBytes);
      expect(model.forward(x).shape).toEqual([1000, 3]);
    });
  });

  test('it is one handle, with the bytes of its library', () => {
    const before = settled();
    const model = load('mlp');
    const now = counts();
    expect([now.tensors, now.storages]).toEqual([before.tensors + 1, before.storages + 1]);
    expect(now.bytes - before.bytes).toBeGreaterThan(10_000);
    expect(now.bytes - before.bytes).toBeLessThan(2 * fs.statSync(pathOf('mlp')).size);
    model.dispose();
    expect(counts()).toEqual(before);
  });

  test('scopes own it, and dispose ends it', () => {
    balanced(() => {
      let inner: any;
      const kept = torch.scope(() => {
        inner = load('mlp');
        return { nested: [load('mlp')] };
      }).nested[0]!;
      expect([inner.disposed, kept.disposed]).toEqual([true, false]);
      kept.dispose();
      kept[Symbol.dispose]();
      const x = torch.ones([1, 6]);
      expect(codeOf(() => kept.forward(x))).toBe('ERR_TORCH_DISPOSED');
      x.dispose();
    });
  });

  test('500 calls and 100 loads leak nothing: handles, bytes or folders', async () => {
    const found = await ask(`${FOLDERS}
      const file = ${JSON.stringify(pathOf('mlp'))};
      const model = torch.inductor.aotiLoadPackage(file);
      const x = torch.ones([5, 6]);
      torch.scope(() => void model.forward(x));
      const before = { ...counts(), allocated: torch.memory().allocatedBytes, left: left() };
      for (let i = 0; i < 500; i++) torch.scope(() => void model.forward(x));
      for (let i = 0; i < 100; i++) torch.scope(() => void torch.inductor.aotiLoadPackage(file).forward(x));
      answer([before, { ...counts(), allocated: torch.memory().allocatedBytes, left: left() }]);
    `);
    expect(found[1]).toEqual(found[0]);
    expect(found[0].left).toEqual([]);
  });

  describe('off the event loop', () => {
    test('inputs and package may be disposed meanwhile', async () => {
      await balancedAsync(async () => {
        const model = load('mlp');
        const x = torch.ones([5, 6]);
        const wanted = model.forward(x);
        const later = model.async.forward(x);
        x.dispose();
        model.dispose();
        const y = await later;
        expectSame(y, wanted);
        torch.disposeAll([y, wanted]);
      });
    });

    test.each([1, 3])('many concurrent calls with %i runners, some of them failing', async (numRunners) => {
      const threads = torch.asyncPool.threads;
      torch.asyncPool.threads = 4;
      try {
        await torch.scope(async () => {
          const model = load('mlp', { numRunners });
          const x = torch.randn([5, 6]);
          const wanted = model.forward(x);
          const disposed = torch.ones([1, 6]);
          disposed.dispose();
          const bad = packagesCheckInputs ? torch.ones([5, 7]) : x.to('meta');
          const calls = Array.from({ length: 90 }, (_, i) => model.async.forward(i % 3 === 0 ? bad : x));
          const results = await Promise.allSettled(calls);
          for (const [i, result] of results.entries()) {
            if (i % 3 === 0) expect((result as any).reason.op).toBe('AotiPackage.forward');
            else expectSame((result as any).value, wanted);
          }
        });
      } finally {
        torch.asyncPool.threads = threads;
      }
    });

    test('nested results, errors with the line of the call, AbortSignal', async () => {
      await torch.scope(async () => {
        const { inputs, named, output } = valuesOf('nested');
        const model = load('nested');
        expectSame(await model.async.forward(...inputs, named, { signal: undefined }), output);
        const error: any = await model.async.forward(...inputs).catch((failure) => failure);
        expect(error.code).toBe('ERR_TORCH_ARGUMENT');
        const bad: any = await load('mlp')
          .async.forward(torch.ones([1, 6], { device: 'meta' }))
          .catch((failure) => failure);
        expect(bad).toMatchObject({ code: 'ERR_TORCH_ARGUMENT', argument: 'input_0' });
        expect(bad.stack).toContain('package.test.ts');
        const aborted = model.async.forward(...inputs, named, { signal: AbortSignal.abort(new Error('before')) });
        await expect(aborted).rejects.toThrow('before');
      });
    });

    test('in torch.run it takes pending tensors and returns one', async () => {
      await balancedAsync(async () => {
        await torch.scope(async () => {
          const [mlp, writer] = [load('mlp'), load('writer')];
          const x = torch.randn([5, 6]);
          const wanted = mlp.forward(x.relu()).mul(2);
          const later: any = await torch.run(async (t) => {
            const y = mlp.forward(t.relu(x));
            expect(() => y.shape).toThrow(expect.objectContaining({ code: 'ERR_TORCH_PENDING' }));
            const [doubled] = (await writer.forward<any>(t.zeros([4]))) as any[];
            return { y: y.mul(2), doubled };
          });
          expectSame(later.y, wanted);
          expect(later.doubled.toArray()).toEqual([2, 2, 2, 2]);
        });
      });
    });
  });

  test('one of several models in a package', () => {
    torch.scope(() => {
      const file = repacked('several', ['mlp', 'writer'], (model, entry) =>
        entry.replace(/^(mlp|writer)\//, 'several/').replace('/aotinductor/model/', `/aotinductor/${model}/`),
      );
      const { inputs, output } = valuesOf('mlp');
      expectSame(torch.inductor.aotiLoadPackage(file, { modelName: 'mlp' }).forward(...inputs), output);
      const writer = torch.inductor.aotiLoadPackage(file, { modelName: 'writer' });
      expect(writer.modelName).toBe('writer');
      expect(writer.forward<any>(torch.zeros([4]))[1].item()).toBe(4);
      const error = thrown(() => torch.inductor.aotiLoadPackage(file));
      expect(error.message).toContain('expected a model named "model", got "mlp", "writer"');
    });
  });

  test('a library for another libtorch', () => {
    const file = repacked('other', ['mlp'], (_, entry, data) => {
      const at = entry.endsWith('.so') ? data.indexOf('libtorch_cpu.so') : -1;
      if (at >= 0) data.write('libtorch_cqu.so', at);
      return entry;
    });
    const error = thrown(() => torch.inductor.aotiLoadPackage(file));
    expect(error.code).toBe('ERR_TORCH_MODEL');
    expect(error.message).toContain('another libtorch: libtorch_cqu.so');
  });

  test('truncated and changed packages are refused before anything is loaded', () => {
    const bytes = fs.readFileSync(pathOf('mlp'));
    const file = path.join(path.dirname(pathOf('mlp')), 'damaged.pt2');
    const refused = (damaged: Uint8Array) => {
      fs.writeFileSync(file, damaged);
      const error = thrown(() => torch.inductor.aotiLoadPackage(file));
      expect(error.code).toBe('ERR_TORCH_MODEL');
      expect(error.message).not.toContain('libtorch cannot');
    };
    for (let part = 1; part < 8; part++) refused(bytes.subarray(0, (bytes.length * part) >> 3));
    const zip = zipOf(bytes);
    for (const entry of zip.entries.values()) {
      const damaged = Buffer.from(bytes);
      damaged[zip.start(entry) + (entry.packed >> 1)]! ^= 4;
      refused(damaged);
    }
    const error = thrown(() => torch.inductor.aotiLoadPackage(pathOf('exported')));
    expect(error.message).toContain('expected an AOTInductor package, got a torch.export program');
    expect(thrown(() => load('mlp', { modelName: 'other' })).message).toContain(
      'expected a model named "other", got "model"',
    );
    const tensors = path.join(path.dirname(file), 'tensors.pt');
    torch.save({ x: torch.ones([1]) }, tensors);
    expect(codeOf(() => torch.inductor.aotiLoadPackage(tensors))).toBe('ERR_TORCH_MODEL');
  });
};

describe('packages of AOTInductor', loadsPackages ? withPackages : without);
