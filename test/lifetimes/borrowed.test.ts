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
