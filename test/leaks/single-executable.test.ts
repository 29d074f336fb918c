/**
 * A single executable application runs its own program whatever script it is given, so the library may start no process of it:
 * each would start the next. With a process that says that it is one, because making one takes a tool that Node does not have.
 */
import { run } from '../support/child';
import { limitMs } from '../support/sanitized';

jest.setTimeout(limitMs(60_000));

const program = `
  require('node:sea').isSea = () => true;
  const started = [];
  const processes = require('node:child_process');
  for (const name of ['spawn', 'execFile', 'fork', 'exec'])
    processes[name] = (file) => { started.push(file); throw new Error('started'); };
  const torch = require('libtorch-node');
  const { assertNoTensorLeaks } = require('libtorch-node/testing');
  const { exportToPrometheus } = require('libtorch-node/metrics');
  const { Registry } = require('prom-client');
  (async () => {
    const seen = [];
    const { code, leaks } = await assertNoTensorLeaks(() => { seen.push(torch.ones([2])); }).catch((error) => error);
    const register = new Registry();
    let refused = null;
    try { exportToPrometheus({ register, verdict: { everyMs: 100 } }); } catch (error) { refused = error; }
    const metrics = await register.metrics();
    const { stop } = exportToPrometheus({ register });
    const tensors = /libtorch_node_tensors\\S* \\d/.test(await register.metrics());
    stop?.();
    console.log(JSON.stringify({
      code, tensors, started, held: leaks.heldBy ?? null, metrics: metrics.trim(), message: refused?.message, refusal: refused?.code,
    }));
  })();`;

test('nothing is started: holders are not named, and a verdict is refused', async () => {
  const { code, stdout, stderr } = await run(process.execPath, ['-e', program]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(stdout)).toEqual({
    code: 'ERR_TORCH_LEAK',
    held: null,
    message:
      "exportToPrometheus: argument 'verdict': expected to be exported by a program that node runs, got a single executable application",
    refusal: 'ERR_TORCH_ARGUMENT',
    metrics: '',
    tensors: true,
    started: [],
  });
});
