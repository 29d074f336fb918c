/** The calls of handwritten.cjs for torch.autocast, torch.nn.utils, torch.utils and the averages of torch.optim.swaUtils. */
'use strict';

module.exports = ({ torch, options, list, generator, read, nothing, numbers }) => {
  const { utils } = torch.nn;
  const ones = () => torch.ones([2, 2]);
  const why = 'takes a module, and names and numbers that are read before it: see weightNorm';
  /** The result of a layer after `act`, with the same weights and random numbers in each call. */
  const layer = (act) => {
    const call = (fire, t) => {
      torch.manualSeed(0);
      const module = new torch.nn.Linear(2, 2);
      act(module, fire, t);
      const result = module.forward(ones()).detach();
      module.dispose();
      return result;
    };
    // A second argument is for calls that take a tensor.
    return act.length > 2 ? call : (fire) => call(fire);
  };
  class Doubled extends torch.nn.Module {
    constructor(fire) {
      super();
      Object.defineProperty(this, 'fire', { value: fire });
    }
    forward(x) {
      return read(this.fire, x.mul(2));
    }
  }
  const packed = () => utils.rnn.packSequence([ones(), torch.ones([1, 2])]);
  const norm = () => new torch.nn.BatchNorm1d(2).eval();
  return {
    autocast: [
      (fire) => torch.autocast({}, () => read(fire, 5)),
      (fire) => torch.autocast(options(fire, 'enabled', true), () => 5),
    ],
    'amp.autocast': nothing('it is torch.autocast'),
    clearAutocastCache: nothing(numbers),
    getAutocastCpuDtype: nothing(numbers),
    getAutocastDtype: nothing(numbers),
    getAutocastGpuDtype: nothing(numbers),
    isAutocastCacheEnabled: nothing(numbers),
    isAutocastCpuEnabled: nothing(numbers),
    isAutocastEnabled: nothing(numbers),
    'nn.utils.rnn.invertPermutation': [
      (fire) => utils.rnn.invertPermutation(torch.tensor(list(fire, [1, 0]), { dtype: 'int64' })),
    ],
    'nn.utils.rnn.packPaddedSequence': [
      (fire, t) => utils.rnn.packPaddedSequence(t, list(fire, [2, 1]), options(fire, 'batchFirst', true)).data,
    ],
    'nn.utils.rnn.padPackedSequence': [
      (fire) => utils.rnn.padPackedSequence(packed(), options(fire, 'totalLength', 3)),
    ],
    'nn.utils.rnn.padSequence': [
      (fire, t) => utils.rnn.padSequence(generator(fire, [t, ones()]), options(fire, 'paddingValue', 1)),
    ],
    'nn.utils.rnn.unpadSequence': [
      (fire, t) => utils.rnn.unpadSequence(t, list(fire, [2, 1]), options(fire, 'batchFirst', true)),
    ],
    'nn.utils.rnn.packSequence': [
      (fire, t) => utils.rnn.packSequence(generator(fire, [t, ones()]), options(fire, 'enforceSorted', true)).data,
    ],
    'nn.utils.rnn.unpackSequence': nothing('takes a PackedSequence: see padPackedSequence'),
    'nn.utils.weightNorm': [layer((module, fire) => utils.weightNorm(module, options(fire, 'dim', 0)))],
    'nn.utils.removeWeightNorm': nothing(why),
    'nn.utils.spectralNorm': [layer((module, fire) => utils.spectralNorm(module, options(fire, 'dim', 0)))],
    'nn.utils.removeSpectralNorm': nothing(why),
    'nn.utils.fuseConvBnEval': nothing(why),
    'nn.utils.fuseLinearBnEval': nothing(why),
    'nn.utils.fuseConvBnWeights': nothing('takes tensors that ops read'),
    'nn.utils.fuseLinearBnWeights': nothing('takes tensors that ops read'),
    'nn.utils.skipInit': [
      (fire) => {
        const made = utils.skipInit(torch.nn.Linear, 2, 2, options(fire, 'bias', false));
        made.dispose();
        return norm().dispose();
      },
    ],
    'nn.utils.parametrizations.orthogonal': [
      layer((module, fire) => utils.parametrizations.orthogonal(module, options(fire, 'orthogonalMap', 'cayley'))),
    ],
    'nn.utils.parametrizations.spectralNorm': [
      layer((module, fire) => utils.parametrizations.spectralNorm(module, options(fire, 'dim', 0))),
    ],
    'nn.utils.parametrizations.weightNorm': [
      layer((module, fire) => utils.parametrizations.weightNorm(module, options(fire, 'dim', 0))),
    ],
    'nn.utils.parametrize.cached': [(fire) => utils.parametrize.cached(() => read(fire, 5))],
    'nn.utils.parametrize.isParametrized': nothing(why),
    'nn.utils.parametrize.registerParametrization': [
      layer((module, fire) => {
        const given = options(fire, 'unsafe', false);
        utils.parametrize.registerParametrization(module, 'weight', new Doubled(() => {}), given);
      }),
    ],
    'nn.utils.parametrize.removeParametrizations': [
      layer((module, fire) => {
        utils.parametrize.registerParametrization(module, 'weight', new Doubled(() => {}));
        utils.parametrize.removeParametrizations(module, 'weight', options(fire, 'leaveParametrized', true));
      }),
    ],
    'nn.utils.parametrize.typeBeforeParametrizations': nothing(why),
    'nn.utils.parametrize.transferParametrizationsAndParams': nothing(why),
    'nn.utils.prune.identity': nothing(why),
    'nn.utils.prune.randomUnstructured': nothing(why),
    'nn.utils.prune.l1Unstructured': [
      layer((module, fire, t) => utils.prune.l1Unstructured(module, 'weight', 2, options(fire, 'importanceScores', t))),
    ],
    'nn.utils.prune.randomStructured': nothing(why),
    'nn.utils.prune.lnStructured': [
      layer((module, fire) => utils.prune.lnStructured(module, 'weight', 1, 2, options(fire, 'dim', 0))),
    ],
    'nn.utils.prune.globalUnstructured': [
      layer((module, fire) =>
        utils.prune.globalUnstructured(
          generator(fire, [[module, 'weight']]),
          utils.prune.L1Unstructured,
          options(fire, 'amount', 2),
        ),
      ),
    ],
    'nn.utils.prune.customFromMask': [
      layer((module, fire, t) => utils.prune.customFromMask(module, 'weight', options(fire, 'mask', t))),
    ],
    'nn.utils.prune.remove': nothing(why),
    'nn.utils.prune.isPruned': nothing(why),
    'utils.assertFinite': [
      (fire) => {
        const loss = new Proxy(torch.ones([1]), { get: (...args) => read(fire, Reflect.get(...args)) });
        return torch.utils.assertFinite(loss, 1);
      },
    ],
    'optim.swaUtils.updateBn': [
      (fire) => {
        const module = new torch.nn.BatchNorm1d(2);
        torch.optim.swaUtils.updateBn(generator(fire, [ones(), ones()]), module);
        const mean = module.runningMean.clone();
        module.dispose();
        return mean;
      },
    ],
    'optim.swaUtils.getSwaMultiAvgFn': nothing('takes nothing'),
    'optim.swaUtils.getEmaMultiAvgFn': nothing('takes a number'),
  };
};
