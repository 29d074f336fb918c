/** Anomaly detection: the report of the forward call, and silence otherwise. */
import { run } from '../support/child';
import { LIB, thrown, torch } from '../support/torch';

const { detectAnomaly, setDetectAnomaly, isAnomalyEnabled, isAnomalyCheckNanEnabled } = torch.autograd;
const leaf = (...data: number[]) => torch.tensor(data, { requiresGrad: true });

afterEach(() => setDetectAnomaly(false));
// Tests whose functions share variables with their tensors have a scope: they are cycles (docs/autograd.md, Hooks).

it('an error names the line of the forward call, and of the backward that made the node', async () => {
  const { stdout, stderr, code } = await run(process.execPath, ['test/autograd/anomaly-lines.cjs', LIB]);
  expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
  const results = JSON.parse(stdout) as [message: string, line: number][];
  const expected = [
    ...['backward', 'autograd.grad', 'autograd.backward'].map(
      (op) => `${op}: Function 'DivBackward0' returned nan values.*forward call of DivBackward0: at LINE`,
    ),
    'modified by an inplace operation.*forward call of ExpBackward0: at LINE',
    'forward call of DivBackward0: at .*created in the backward of SqrtBackward0, whose forward call was at LINE',
  ];
  expect(results.length).toBe(expected.length);
  results.forEach(([message, line], i) => {
    const pattern = expected[i]!.replace('LINE', `[^\\n]*anomaly-lines\\.cjs:${line}:\\d+`);
    expect(message).toMatch(new RegExp(pattern, 's'));
  });
});

it('checkNan: false lets NaN through', () => {
  const x = leaf(0);
  detectAnomaly(() => x.div(x.mul(0)).sum().backward(), { checkNan: false });
  expect(Number.isNaN(x.grad!.at(0).item())).toBe(true);
});

it('says so if the line is unknown, and nothing if it is off', () =>
  torch.scope(() => {
    const x = leaf(0);
    const y = () => x.div(x.mul(0)).sum();
    const before = y();
    setDetectAnomaly(true);
    expect(thrown(() => before.backward()).message).toMatch(/at an unknown line/);
    setDetectAnomaly(false);
    y().backward();
  }));

it('does not change errors thrown by hooks', () =>
  torch.scope(() => {
    setDetectAnomaly(true);
    const x = leaf(1);
    const error = new Error('mine');
    x.mul(2).registerHook(() => {});
    x.registerHook(() => {
      throw error;
    });
    expect(thrown(() => x.sum().backward())).toBe(error);
    expect(error.message).toBe('mine');
  }));

it('is switched on and restored', () => {
  expect(isAnomalyEnabled()).toBe(false);
  expect(detectAnomaly(() => [isAnomalyEnabled(), isAnomalyCheckNanEnabled()])).toEqual([true, true]);
  expect(detectAnomaly(() => isAnomalyCheckNanEnabled(), { checkNan: false })).toBe(false);
  expect(() =>
    detectAnomaly(() => {
      throw new Error('out');
    }),
  ).toThrow('out');
  expect(isAnomalyEnabled()).toBe(false);
  expect(thrown(() => setDetectAnomaly(1 as never)).code).toBe('ERR_TORCH_ARGUMENT');
  expect(thrown(() => setDetectAnomaly(true, { check_nan: true } as never)).code).toBe('ERR_TORCH_ARGUMENT');
  expect(thrown(() => detectAnomaly(5 as never)).code).toBe('ERR_TORCH_ARGUMENT');
  expect(thrown(() => detectAnomaly(async () => {})).code).toBe('ERR_TORCH_ASYNC_MODE');
});
