/** The calls of handwritten.cjs on torch.nn: its functions, and modules; and on the scaler of losses. */
'use strict';

module.exports = ({ torch, read, ones, options, generator, tensorsOnly, nothing, numbers }) => {
  /** A function of torch.nn.init: with an option, and of a tensor that may be a Proxy. `others` leave nothing to chance. */
  const filled = (name, option, value, others = {}) => [
    (fire, t) => torch.nn.init[name](t, options(fire, option, value, others)),
    ...tensorsOnly((_fire, t) => torch.nn.init[name](t, { ...others, [option]: value })),
  ];
  const plainlyFilled = (name) => tensorsOnly((_fire, t) => torch.nn.init[name](t));
  /** The same random numbers in each call. */
  const seeded = (calls) =>
    calls.map((call) =>
      Object.assign(
        (fire, t) => {
          torch.manualSeed(0);
          return call(fire, t);
        },
        { tensorsOnly: call.tensorsOnly === true },
      ),
    );
  /** A leaf with a gradient. */
  function trained(t = ones()) {
    const w = t.detach().requiresGrad_();
    w.pow(2).sum().backward();
    return w;
  }
  const functions = {
    'nn.init.calculateGain': nothing(numbers),
    'nn.init.constant_': filled('constant_', 'val', 0.5),
    'nn.init.dirac_': [(fire) => torch.nn.init.dirac_(torch.ones([2, 2, 3]), options(fire, 'groups', 1))],
    'nn.init.eye_': plainlyFilled('eye_'),
    'nn.init.kaimingNormal_': seeded(filled('kaimingNormal_', 'a', 0.1)),
    'nn.init.kaimingUniform_': seeded(filled('kaimingUniform_', 'a', 0.1)),
    'nn.init.normal_': seeded(filled('normal_', 'mean', 1)),
    'nn.init.ones_': plainlyFilled('ones_'),
    'nn.init.orthogonal_': seeded(filled('orthogonal_', 'gain', 2)),
    'nn.init.sparse_': seeded(filled('sparse_', 'sparsity', 0.5)),
    'nn.init.truncNormal_': seeded(filled('truncNormal_', 'mean', 0.1)),
    'nn.init.uniform_': seeded(filled('uniform_', 'a', 0.5)),
    'nn.init.xavierNormal_': seeded(filled('xavierNormal_', 'gain', 2)),
    'nn.init.xavierUniform_': seeded(filled('xavierUniform_', 'gain', 2)),
    'nn.init.zeros_': plainlyFilled('zeros_'),
    'nn.utils.clipGradNorm_': [
      (fire, t) => torch.nn.utils.clipGradNorm_(generator(fire, [trained(t)]), 1, options(fire, 'normType', 2)),
    ],
    'nn.utils.clipGradValue_': [
      (fire, t) => {
        const w = trained(t);
        torch.nn.utils.clipGradValue_(generator(fire, [w]), 0.5);
        return w.grad;
      },
    ],
    'nn.utils.parametersToVector': [(fire, t) => torch.nn.utils.parametersToVector(generator(fire, [ones(), t]))],
    'nn.utils.vectorToParameters': [
      (fire, t) => {
        const w = torch.zeros([4]).requiresGrad_();
        torch.nn.utils.vectorToParameters(t.reshape([4]), generator(fire, [w]));
        return w.detach();
      },
    ],
  };
  const others = {
    'amp.GradScaler': [
      (fire, t) => {
        const scaler = new torch.amp.GradScaler('cpu', options(fire, 'initScale', 8));
        scaler.loadStateDict(options(fire, 'scale', 4, { ...scaler.stateDict(), scale: undefined }));
        const w = ones().requiresGrad_();
        const optimizer = new torch.optim.SGD([w], { lr: 0.1 });
        optimizer.registerStepPreHook(() => fire());
        const loss = w.mul(t).sum();
        const [scaled] = scaler.scale(Object.defineProperty([loss], 0, { get: () => read(fire, loss) }));
        scaled.backward();
        scaler.step(optimizer);
        scaler.update();
        return w.detach();
      },
      ...tensorsOnly((_fire, t) => new torch.amp.GradScaler('cpu', { initScale: 4 }).scale(t)),
    ],
    'nn.Module': [
      (fire, t) => {
        const layer = new torch.nn.Linear(2, 2, options(fire, 'bias', false));
        layer.loadStateDict(options(fire, 'weight', ones()));
        layer.registerForwardPreHook(() => read(fire, undefined));
        layer.registerForwardHook(() => read(fire, undefined));
        layer.apply(() => fire());
        const y = layer.forward(t);
        layer.dispose();
        return y.detach();
      },
    ],
  };
  return { functions, others };
};
