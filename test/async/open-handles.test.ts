/** What tools that look for open handles see of the library, such as Jest's --detectOpenHandles. */
import { run } from '../support/child';
import { LIB } from '../support/torch';

test('no resource of the library keeps the event loop alive, and each says so', async () => {
  const program = `
    const resources = [];
    require('node:async_hooks').createHook({
      init: (id, type, trigger, resource) => { if (type === 'libtorch-node') resources.push(resource); },
    }).enable();
    const torch = require(${JSON.stringify(LIB)});
    torch.run(() => torch.ones([2]).add(1)).then(() =>
      console.log(JSON.stringify(resources.map(({ hasRef }) => hasRef?.() ?? 'unknown'))));`;
  const { code, stdout, stderr } = await run(process.execPath, ['-e', program]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const answers = JSON.parse(stdout) as unknown[];
  expect(answers.length).toBeGreaterThan(0);
  expect(answers).toEqual(answers.map(() => false));
});
