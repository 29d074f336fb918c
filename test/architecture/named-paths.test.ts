/** The lint check that paths in comments and documents exist. */
import { run } from '../support/child';
import { ROOT } from '../support/torch';

async function inStep(expression: string): Promise<unknown> {
  const program = `import * as paths from ${JSON.stringify(`${ROOT}/scripts/steps/named-paths.mjs`)};
    console.log(JSON.stringify(${expression}));`;
  const { code, stdout, stderr } = await run(process.execPath, ['--input-type=module', '-e', program]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}
const names = (file: string, text: string) =>
  inStep(`paths.namedPaths(${JSON.stringify(file)}, ${JSON.stringify(text)}).map(({ line, name }) => [line, name])`);

/** Not as text in this file, which the check reads too. */
const comment = (text: string) => `/** ${text} */`;

test('comments of sources and the text of documents are read', async () => {
  expect(await names('lib/a.ts', `import 'lib/b';\n${comment('See lib/gone.ts.')} x; // and audit/heap.ts:12`)).toEqual(
    [
      [2, 'lib/gone.ts'],
      [2, 'audit/heap.ts'],
    ],
  );
  expect(await names('native/a.cpp', '#include "native/b.h"\n// native/handles/*.cpp, native/async/')).toEqual([
    [2, 'native/async'],
  ]);
  expect(await names('docs/a.md', 'the addon in `native/addon` reads `ATen/core/Tensor.h`')).toEqual([
    [1, 'native/addon'],
  ]);
  expect(await names('scripts/a.yaml', 'key: lib/value.ts # as in lib/comment.ts')).toEqual([[1, 'lib/comment.ts']]);
});
