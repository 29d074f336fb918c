/** Memory that belongs to a typed array. In a child process: a mistake here is a crash. */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { limitMs } from '../support/sanitized';

const entry = path.resolve(__dirname, '../..');

function run(program: string): { status: number | null; stdout: string; stderr: string } {
  const text = `const torch = require(${JSON.stringify(entry)});\n${program}`;
  return spawnSync(process.execPath, ['--expose-gc', '-e', text], { encoding: 'utf8', timeout: limitMs(60_000) });
}

test('the tensor keeps the memory of a transferred buffer', () => {
  const result = run(`
    const array = new Float32Array(1 << 20).fill(1);
    const tensor = torch.fromTypedArray(array);
    try {
      structuredClone(array.buffer, { transfer: [array.buffer] }); // a copy, or a refusal, by Node's version
    } catch {}
    gc();
    for (let i = 0; i < 50; i++) new Float32Array(1 << 20).fill(7);
    gc();
    array[0] = 2;
    console.log(tensor.sum().item(), array.length);
  `);
  expect(result).toMatchObject({ status: 0, stdout: `${(1 << 20) + 1} ${1 << 20}\n` });
});

// libuv, which frees what other threads released, has no turn in these loops.
const inLoop = (step: string, after = '') => `
  const w = torch.ones([2], { requiresGrad: true });
  const step = (data) => { ${step} };
  for (let i = 0; i < 200; i++) torch.scope(() => step(new Float32Array(1 << 18)));
  ${after}
  const isFreed = () => process.memoryUsage().arrayBuffers < 20e6;
  for (let i = 0; i < 200 && !isFreed(); i++) gc(); // V8 frees the memory of arrays on another thread
  console.log(isFreed());
`;
test.each([
  ['arrays whose tensors have ended', 'torch.fromTypedArray(data).sum();'],
  ['hooks, and what they refer to', 'const y = w.mul(2); y.registerHook(() => { data.length; }); y.sum().backward();'],
  [
    'functions of checkpoints',
    'torch.utils.checkpoint.checkpoint((x) => { data.length; return x.mul(2); }, w, { useReentrant: false }).sum().backward();',
  ],
])('a loop that never yields frees %s', (_, step) => {
  expect(run(inLoop(step))).toMatchObject({ status: 0, stdout: 'true\n' });
});

test('a collection of the library frees the arrays of tensors that have ended', () => {
  const all = 'globalThis.all ??= []; all.push(torch.keep(torch.fromTypedArray(data)));';
  const later = 'torch.disposeAll(all); all = []; for (let i = 0; i < 20000; i++) torch.zeros([1]);';
  expect(run(inLoop(all, later))).toMatchObject({ status: 0, stdout: 'true\n' });
});

test('a resizable buffer is refused', () => {
  const result = run(`
    try {
      torch.fromTypedArray(new Float32Array(new ArrayBuffer(16, { maxByteLength: 32 })));
    } catch (error) {
      console.log(error.code);
    }
  `);
  expect(result).toMatchObject({ status: 0, stdout: 'ERR_TORCH_ARGUMENT\n' });
});

test("the program's own gc stays, and new contexts do not get gc", () => {
  const result = run(`
    const vm = require('node:vm');
    for (let i = 0; i < 20000; i++) torch.zeros([1]); // past the first scavenge
    console.log(typeof gc, vm.runInNewContext('typeof gc'));
  `);
  expect(result).toMatchObject({ status: 0, stdout: 'function function\n' });
});
