/** Programs that freeze or replace their `Error`: recordings still know the lines, and the program goes on. */
import * as path from 'node:path';
import { run } from '../support/child';
import { LIB } from '../support/torch';
import { leakAudit, testFolder } from './command';

const folder = testFolder();

/** Prints the function of the innermost frame. */
const PROGRAM = `
const { captureStack } = require(${JSON.stringify(path.join(LIB, 'observe/audit/stack.js'))});
const capture = () => captureStack(16, capture);
function maker() {
  console.log(capture().frames()[0]?.function);
}
`;

test.each([
  ['a frozen Error', 'Object.freeze(Error);'],
  ['a limit that is fixed', "Object.defineProperty(Error, 'stackTraceLimit', { value: 0, writable: false });"],
  ['a limit that throws', "Object.defineProperty(Error, 'stackTraceLimit', { get() { throw new Error('no'); } });"],
  ['captureStackTrace without effect', 'Error.captureStackTrace = () => {};'],
  ['no captureStackTrace', 'delete Error.captureStackTrace;'],
])('%s: a stack is captured', async (_name, change) => {
  expect(await run(process.execPath, ['-e', `${PROGRAM}${change}maker();`])).toMatchObject({
    code: 0,
    stdout: 'maker\n',
  });
});

test('--frozen-intrinsics: run --wasm names the line, and the program goes on', async () => {
  const json = path.join(folder, 'frozen.json');
  const program = [process.execPath, '--no-warnings', '--frozen-intrinsics', path.join(__dirname, 'fixtures/wasm.cjs')];
  const options = ['run', '--quiet', '--wasm', '--json', json];
  expect(await leakAudit([...options, '--', ...program, 'steady', '1'])).toMatchObject({ code: 0, stderr: '' });
  const { wasm } = require(json);
  expect(wasm.sites[0]).toMatchObject({ file: program[3] });
});
