/** Errors point at the caller's line: the first frame of their stacks is the program's, through source maps too. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { transformSync } from '@swc/core';
import { run } from '../support/child';
import { ROOT, thrown, torch, untyped } from '../support/torch';

const x = torch.ones([2, 3]);
afterAll(() => x.dispose());

const framesOf = (error: Error) => error.stack!.split('\n').filter((line) => line.startsWith('    at '));

/** Each fails on its own line. */
const failures: Record<string, () => unknown> = {
  'a function, native': () => torch.mm(x, x as never),
  'a method, native': () => x.mm(x as never),
  'a function, no overload': () => untyped.mm(x, 'a'),
  'a method, no overload': () => untyped.ones([1]).sum({ dm: 1 }),
  'the raw form': () => untyped.ops.aten.mm.default(x),
  'a public function': () => untyped.nn.functional.crossEntropy(x, 3),
  'a wrong mode': () => untyped.nn.functional.interpolate(x, { mode: 'none' }),
  'an op inside a public function': () => torch.nn.functional.crossEntropy(x, torch.ones([7]) as never),
  'a public method': () => untyped.ones([1]).apply_(3),
  'ragged data': () => untyped.tensor([[1], [2, 3]]),
  'a hand-written function': () => untyped.setMemoryLimit('much'),
  'an index': () => x.at(7 as number),
  'a value that does not fit': () => x.set([0], torch.ones([5])),
  'a setter': () => Reflect.set(x, 'grad', 4),
  'a getter': () => disposed().shape,
  'a disposed tensor': () => disposed().add(1),
  'another this': () => untyped.Tensor.prototype.add.call({}, 1),
  'a class': () => new untyped.Generator('cpu', 3),
  'a method of a class': () => new untyped.Generator().manualSeed('x'),
  'a scope': () => untyped.scope(3),
  'inside a scope': () => torch.scope(() => torch.mm(x, x as never)),
  'inside noGrad': () => torch.noGrad(() => x.mm(x as never)),
  'called by Array.map': () => [x].map(untyped.mm),
  autograd: () => x.backward(),
};

function disposed(): typeof x {
  const gone = torch.ones([2, 3]);
  gone.dispose();
  return gone;
}

const source = readFileSync(__filename, 'utf8').split('\n');

test.each(Object.entries(failures))('%s', (name, fail) => {
  const error = thrown(fail);
  const line = source.findIndex((text) => text.includes('() =>') && new RegExp(`^  '?${name}'?: `).test(text)) + 1;
  expect(line).toBeGreaterThan(0);
  expect(error.code).toMatch(/^ERR_TORCH_/);
  const [first] = framesOf(error);
  expect(first).toMatch(new RegExp(`caller\\.test\\.ts:${line}:\\d+\\)?$`));
  expect(error.stack!.startsWith(`${error.name}: ${error.message}\n    at `)).toBe(true);
  expect(Object.keys(error)).not.toContain('stack');
});

test('a rejected promise', async () => {
  const fails = async () => {
    await null;
    return torch.mm(x, x as never);
  };
  const error = (await fails().catch((reason: unknown) => reason)) as Error;
  expect(framesOf(error)[0]).toContain('caller.test.ts');
});

/** Runs a program and returns its output. */
async function output(args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(process.execPath, args);
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

test('as many frames as requested, including the library’s between them; Error.prepareStackTrace is used', async () => {
  // In a separate program, because Jest has its own Error.
  const program = `
    const torch = require(${JSON.stringify(ROOT)});
    const x = torch.ones([2, 3]);
    const fail = () => {
      try {
        torch.scope(() => x.mm(x));
      } catch (error) {
        return error.stack;
      }
    };
    Error.stackTraceLimit = 3;
    const three = fail();
    Error.stackTraceLimit = 0;
    const none = fail();
    Error.stackTraceLimit = 5;
    Error.prepareStackTrace = (_, sites) => sites;
    const own = fail();
    console.log(JSON.stringify({ three, none, own: Array.isArray(own), limit: Error.stackTraceLimit }));
  `;
  const { three, none, own, limit } = JSON.parse(await output(['-e', program]));
  const frames = (three as string).split('\n').filter((line) => line.startsWith('    at '));
  expect(frames.length).toBe(3);
  expect(frames[0]).toContain('[eval]:6');
  expect(frames[1]).toContain('scope.js');
  expect(none).not.toContain('    at ');
  expect([own, limit]).toEqual([true, 5]);
});

test('in a TypeScript program, with and without --enable-source-maps', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'libtorch-node-caller-'));
  try {
    const lines = [
      'interface Unused { a: number }',
      `const torch = require(${JSON.stringify(ROOT)});`,
      '',
      'type Also = Unused;',
      'function train(): void { torch.ones([2, 3]).mm(torch.ones([2, 3])); }',
      'try { train() } catch (error) { console.log((error as Error).stack); }',
      'try { torch.tensor([[1], [2, 3]]) } catch (error) { console.log((error as Error).stack); }',
    ];
    const file = path.join(folder, 'train.ts');
    writeFileSync(file, lines.join('\n'));
    const { code, map } = transformSync(lines.join('\n'), {
      filename: file,
      sourceMaps: true,
      jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
    });
    const compiled = path.join(folder, 'train.js');
    writeFileSync(compiled, `${code}\n//# sourceMappingURL=train.js.map`);
    writeFileSync(`${compiled}.map`, map!);
    const first = (text: string) =>
      text.split('\n').filter((line) => /^ {4}at .*train\./.test(line) || /libtorch/.test(line));
    const mapped = first(await output(['--enable-source-maps', compiled]));
    expect(mapped[0]).toMatch(/at train \(.*train\.ts:5:\d+\)$/);
    expect(mapped.some((line) => /train\.ts:7:\d+/.test(line))).toBe(true);
    const plain = first(await output([compiled]));
    expect(plain[0]).toMatch(/at train \(.*train\.js:\d+:\d+\)$/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
