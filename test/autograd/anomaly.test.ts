/** Anomaly detection: what is said of the forward call, and that nothing is said otherwise. */
import { thrown, torch } from '../support/torch';

const { detectAnomaly, setDetectAnomaly, isAnomalyEnabled, isAnomalyCheckNanEnabled, grad } = torch.autograd;
const leaf = (...data: number[]) => torch.tensor(data, { requiresGrad: true });

/** The line of this file where `what` stands. */
function place(message: string): string {
  return /forward call of \w+: at .*anomaly\.test\.ts:(\d+):\d+/.exec(message)?.[1] ?? message;
}
/** The line that calls it, as V8 has it: what Jest makes of this file has no source map. */
function lineHere(): string {
  const { prepareStackTrace } = Error;
  try {
    Error.prepareStackTrace = (_, sites) => sites;
    const sites = new Error().stack as unknown as NodeJS.CallSite[];
    return String(sites[1]!.getLineNumber());
  } finally {
    Error.prepareStackTrace = prepareStackTrace;
  }
}

afterEach(() => setDetectAnomaly(false));

it.each(['backward', 'grad', 'autograd.backward'])('NaN names the line of the forward call: %s', (how) => {
  const x = leaf(0, 1);
  const { y, line } = detectAnomaly(() => ({ y: x.mul(0).div(x.mul(0)).sum(), line: lineHere() }));
  setDetectAnomaly(true);
  const error = thrown(() => {
    if (how === 'backward') y.backward();
    else if (how === 'grad') grad(y, x);
    else torch.autograd.backward(y);
  });
  expect(error.code).toBe('ERR_TORCH_RUNTIME');
  expect(error.message).toMatch(/DivBackward0.*returned nan values/);
  expect(place(error.message)).toBe(line);
  expect(error.stack).toContain('forward call of DivBackward0');
});

it('a failure that is no NaN names its line as well', () => {
  setDetectAnomaly(true, { checkNan: false });
  const x = leaf(1, 2);
  const [y, line] = [x.exp(), lineHere()];
  y.detach().add_(1);
  const error = thrown(() => y.sum().backward());
  expect(error.message).toMatch(/modified by an inplace operation/);
  expect(place(error.message)).toBe(line);
});

it('checkNan: false lets NaN through', () => {
  const x = leaf(0);
  detectAnomaly(() => x.div(x.mul(0)).sum().backward(), { checkNan: false });
  expect(Number.isNaN(x.grad!.at(0).item())).toBe(true);
});

it('says so where the line is not known, and nothing where it is off', () => {
  const x = leaf(0);
  const y = () => x.div(x.mul(0)).sum();
  const before = y();
  setDetectAnomaly(true);
  expect(thrown(() => before.backward()).message).toMatch(/a line that is not known/);
  setDetectAnomaly(false);
  y().backward();
});

it('names the forward call of a gradient’s own graph', () => {
  setDetectAnomaly(true);
  const x = leaf(0);
  const [y, line] = [x.sqrt(), lineHere()];
  const error = thrown(() => {
    torch.autograd.setDetectAnomaly(true, { checkNan: false });
    const [d] = grad(y.sum(), x, { createGraph: true });
    torch.autograd.setDetectAnomaly(true);
    grad(d!.mul(0).sum(), x);
  });
  expect(error.message).toMatch(/forward call of/);
  expect(error.message).toContain(`made in the backward of SqrtBackward0`);
  expect(error.message).toContain(`anomaly.test.ts:${line}`);
});

it('leaves what a hook throws as it is', () => {
  setDetectAnomaly(true);
  const x = leaf(1);
  const error = new Error('mine');
  x.mul(2).registerHook(() => {});
  x.registerHook(() => {
    throw error;
  });
  expect(thrown(() => x.sum().backward())).toBe(error);
  expect(error.message).toBe('mine');
});

it('is switched, and put back', () => {
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
