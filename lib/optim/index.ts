/** torch.optim: optimizers, schedules of the learning rate, averages of weights. Python's torch/optim. */
import { reportMissingNames } from '../call/misses';
import { limitMethods } from '../errors/arity';
import { LRScheduler } from './lr-scheduler';
import { Optimizer } from './optimizer';

export { Adam, AdamW } from './adam';
export type { GivenGroup, Parameter, ParamGroup, Params } from './groups';
export type { OptimizerHookHandle, OptimizerHookOptions, OptimizerStateDictHook, StepHook } from './hooks';
export { LBFGS } from './lbfgs';
export * as lrScheduler from './lr-scheduler';
export { Adamax, NAdam, RAdam } from './moments';
export { Adafactor, Muon } from './newer';
export { Optimizer, type ZeroGradOptions } from './optimizer';
export type {
  AdadeltaOptions,
  AdafactorOptions,
  AdagradOptions,
  AdamaxOptions,
  AdamOptions,
  ASGDOptions,
  CommonOptions,
  LBFGSOptions,
  ModeOptions,
  MomentOptions,
  MuonOptions,
  NAdamOptions,
  RAdamOptions,
  Rate,
  RMSpropOptions,
  RpropOptions,
  SGDOptions,
  SparseAdamOptions,
} from './options';
export { ASGD, Rprop, SparseAdam } from './others';
export { Adadelta, Adagrad, RMSprop } from './scaled';
export { SGD } from './sgd';
export type { OptimizerStateDict, ParamState } from './state-dict';
export * as swaUtils from './swa-utils';

reportMissingNames('optim.Optimizer', Optimizer.prototype, { fields: true });
reportMissingNames('optim.lrScheduler.LRScheduler', LRScheduler.prototype, { fields: true });

limitMethods(Optimizer, { addParamGroup: 1, zeroGrad: 1, stateDict: 0, loadStateDict: 1 });
