/** Refuses extra arguments of hand-written functions, which JavaScript would ignore. Ops check their own arguments. */
import { codedError, type TorchError } from './errors';

/** The most arguments of each function; Infinity for those that check themselves. */
const most: Readonly<Record<string, number>> = {
  getAllocationThreshold: 0,
  setAllocationThreshold: 1,
  'audit.label': 3,
  'audit.mark': 1,
  autocast: 3,
  capture: 1,
  clearAutocastCache: 0,
  getAutocastCpuDtype: 0,
  getAutocastDtype: 1,
  getAutocastGpuDtype: 0,
  isAutocastCacheEnabled: 0,
  isAutocastCpuEnabled: 0,
  isAutocastEnabled: 1,
  'amp.autocast': 3,
  backward: 6,
  enableGrad: 1,
  inferenceMode: 1,
  isGradEnabled: 0,
  isInferenceModeEnabled: 0,
  noGrad: 1,
  setGradEnabled: 2,
  tensor: 2,
  'cuda.isAvailable': 0,
  'cuda.deviceCount': 0,
  'cuda.currentDevice': 0,
  'cuda.synchronize': 1,
  'cuda.emptyCache': 0,
  'cuda.memory': 1,
  'distributed.allGather': 3,
  'distributed.allGatherIntoTensor': 3,
  'distributed.allGatherObject': 2,
  'distributed.allReduce': 2,
  'distributed.allToAll': 3,
  'distributed.allToAllSingle': 3,
  'distributed.barrier': 1,
  'distributed.broadcast': 3,
  'distributed.broadcastObject': 3,
  'distributed.destroyProcessGroup': 1,
  'distributed.gather': 4,
  'distributed.gatherObject': 3,
  'distributed.getBackend': 1,
  'distributed.getRank': 1,
  'distributed.getWorldSize': 1,
  'distributed.initProcessGroup': 2,
  'distributed.isAvailable': 0,
  'distributed.isInitialized': 0,
  'distributed.monitoredBarrier': 1,
  'distributed.newGroup': 2,
  'distributed.recv': 3,
  'distributed.recvObject': 2,
  'distributed.reduce': 3,
  'distributed.reduceScatter': 3,
  'distributed.scatter': 4,
  'distributed.scatterObject': 3,
  'distributed.send': 3,
  'distributed.sendObject': 3,
  'distributed.trace': 1,
  'npy.load': 2,
  'npy.save': 2,
  'npy.serialize': 1,
  'npy.loadFromStream': 2,
  'npy.saveToStream': 1,
  'npz.load': 2,
  'npz.loadFromStream': 2,
  'npz.save': 2,
  'npz.saveToStream': 1,
  'safetensors.open': 2,
  'safetensors.load': 2,
  'safetensors.loadFromStream': 2,
  'safetensors.serialize': 2,
  'safetensors.save': 3,
  'safetensors.saveToStream': 2,
  load: 2,
  loadFromStream: 2,
  save: 2,
  saveToBuffer: 1,
  saveToStream: 1,
  'autograd.detectAnomaly': 2,
  'autograd.isAnomalyCheckNanEnabled': 0,
  'autograd.isAnomalyEnabled': 0,
  'autograd.setDetectAnomaly': 2,
  'autograd.onceDifferentiable': 1,
  'autograd.backward': 5,
  'autograd.grad': 6,
  'autograd.gradcheck': 3,
  'autograd.gradgradcheck': 4,
  'autograd.functional.jacobian': 3,
  'autograd.functional.hessian': 3,
  'autograd.functional.vjp': 4,
  'autograd.functional.jvp': 4,
  'autograd.functional.vhp': 4,
  'autograd.functional.hvp': 4,
  // Its arguments are those of the function that it calls.
  'utils.checkpoint.checkpoint': Number.POSITIVE_INFINITY,
  'utils.checkpoint.checkpointSequential': 4,
  'utils.assertFinite': 2,
  'utils.parseJSON': 2,
  'utils.data.readArrow': 2,
  'utils.data.readParquet': 2,
  'utils.data.decodeImage': 2,
  'utils.data.loadTokenizer': 1,
  'utils.data.tokenCollate': 2,
  'utils.data.defaultCollate': 1,
  'utils.data.defaultConvert': 1,
  // It reads its arguments itself.
  'utils.data.randomSplit': Number.POSITIVE_INFINITY,
  // With the options object.
  'nn.init.calculateGain': 2,
  'nn.init.uniform_': 4,
  'nn.init.normal_': 4,
  'nn.init.truncNormal_': 6,
  'nn.init.constant_': 3,
  'nn.init.ones_': 1,
  'nn.init.zeros_': 1,
  'nn.init.eye_': 1,
  'nn.init.dirac_': 3,
  'nn.init.xavierUniform_': 3,
  'nn.init.xavierNormal_': 3,
  'nn.init.kaimingUniform_': 5,
  'nn.init.kaimingNormal_': 5,
  'nn.init.orthogonal_': 3,
  'nn.init.sparse_': 4,
  'nn.utils.clipGradNorm_': 4,
  'nn.utils.clipGradValue_': 2,
  'nn.utils.parametersToVector': 1,
  'nn.utils.vectorToParameters': 2,
  'nn.utils.rnn.invertPermutation': 1,
  // These read their arguments as the constructors of modules do.
  'nn.utils.rnn.packPaddedSequence': Number.POSITIVE_INFINITY,
  'nn.utils.rnn.padPackedSequence': Number.POSITIVE_INFINITY,
  'nn.utils.rnn.padSequence': Number.POSITIVE_INFINITY,
  'nn.utils.rnn.unpadSequence': Number.POSITIVE_INFINITY,
  'nn.utils.rnn.packSequence': Number.POSITIVE_INFINITY,
  'nn.utils.weightNorm': Number.POSITIVE_INFINITY,
  'nn.utils.removeWeightNorm': Number.POSITIVE_INFINITY,
  'nn.utils.spectralNorm': Number.POSITIVE_INFINITY,
  'nn.utils.removeSpectralNorm': Number.POSITIVE_INFINITY,
  'nn.utils.parametrizations.orthogonal': Number.POSITIVE_INFINITY,
  'nn.utils.parametrizations.spectralNorm': Number.POSITIVE_INFINITY,
  'nn.utils.parametrizations.weightNorm': Number.POSITIVE_INFINITY,
  'nn.utils.prune.identity': Number.POSITIVE_INFINITY,
  'nn.utils.prune.randomUnstructured': Number.POSITIVE_INFINITY,
  'nn.utils.prune.l1Unstructured': Number.POSITIVE_INFINITY,
  'nn.utils.prune.randomStructured': Number.POSITIVE_INFINITY,
  'nn.utils.prune.lnStructured': Number.POSITIVE_INFINITY,
  'nn.utils.prune.customFromMask': Number.POSITIVE_INFINITY,
  'nn.utils.prune.remove': Number.POSITIVE_INFINITY,
  'nn.utils.rnn.unpackSequence': 1,
  'nn.utils.fuseConvBnWeights': 8,
  'nn.utils.fuseLinearBnWeights': 7,
  'nn.utils.fuseConvBnEval': 3,
  'nn.utils.fuseLinearBnEval': 2,
  // Its arguments are those of the class.
  'nn.utils.skipInit': Number.POSITIVE_INFINITY,
  'nn.utils.parametrize.cached': 1,
  'nn.utils.parametrize.isParametrized': 2,
  'nn.utils.parametrize.registerParametrization': 4,
  'nn.utils.parametrize.removeParametrizations': 3,
  'nn.utils.parametrize.typeBeforeParametrizations': 1,
  'nn.utils.parametrize.transferParametrizationsAndParams': 3,
  'nn.utils.prune.globalUnstructured': 3,
  'nn.utils.prune.isPruned': 1,
  'optim.swaUtils.updateBn': 3,
  'optim.swaUtils.getSwaAvgFn': 0,
  'optim.swaUtils.getEmaAvgFn': 1,
  'optim.swaUtils.getSwaMultiAvgFn': 0,
  'optim.swaUtils.getEmaMultiAvgFn': 1,
  slice: 3,
  'inductor.aotiLoadPackage': 2,
  'jit.load': 2,
  'jit.freeze': 3,
  'jit.optimizeForInference': 2,
  'jit.save': 2,
  'TensorLogger.start': 1,
  setPrintOptions: 1,
  disposeAll: 1,
  keep: 1,
  // These search the stack for their caller, which a wrapper's frame would hide.
  openScope: Number.POSITIVE_INFINITY,
  scope: Number.POSITIVE_INFINITY,
  fromShared: 1,
  getNumThreads: 0,
  getDefaultDtype: 0,
  showConfig: 0,
  memory: 0,
  setMemoryLimit: 1,
  getMemoryLimit: 0,
  manualSeed: 1,
  setNumThreads: 1,
  setDefaultDtype: 1,
  // Sizes passed one by one are more likely than a third argument, and get their own error.
  fromTypedArray: Number.POSITIVE_INFINITY,
  // The parser of ops reads its arguments.
  full: Number.POSITIVE_INFINITY,
};

/** Whether it is called as by `list.forEach(torch.disposeAll)`, with the index and the list. */
const isOfList = (passed: readonly unknown[]) =>
  passed.length === 3 && typeof passed[1] === 'number' && Array.isArray(passed[2]);

/** The error for more arguments than `count`. `which` says which are counted, if those before them are not. */
export function tooMany(fn: string, count: number, given: number, which = ''): TorchError {
  const most = count === 0 ? 'no arguments' : `at most ${count} argument${count === 1 ? '' : 's'}`;
  const message = `${fn}: takes ${most}${which}, got ${given}`;
  return Object.assign(codedError(TypeError, 'ERR_TORCH_ARGUMENT', message), { op: fn });
}

/** Throws for more arguments than `count`; trailing undefined does not count. */
export function requireAtMost(fn: string, count: number, passed: readonly unknown[]): void {
  let given = passed.length;
  while (given > count && passed[given - 1] === undefined) given--;
  if (given > count && !(count === 1 && isOfList(passed))) throw tooMany(fn, count, given);
}

/** The arguments of a constructor, which takes at most `count`. */
export function upTo<T extends readonly unknown[]>(fn: string, count: number, passed: T): T {
  requireAtMost(fn, count, passed);
  return passed;
}

type Call = (...args: unknown[]) => unknown;

const isClass = (value: Call) => /^class\b/.test(Function.prototype.toString.call(value));

function counting(name: string, fn: Call): Call {
  const count = most[name];
  if (count === undefined) throw new Error(`${name} has no entry in lib/errors/arity.ts`);
  return count === Number.POSITIVE_INFINITY ? fn : limited(() => name, count, fn);
}

function limited(nameOf: (receiver: unknown) => string, count: number, fn: Call): Call {
  const counted = function (this: unknown, ...passed: unknown[]): unknown {
    if (passed.length > count) requireAtMost(nameOf(this), count, passed);
    return Reflect.apply(fn, this, passed);
  };
  return Object.defineProperties(
    counted,
    Object.getOwnPropertyDescriptors({ name: fn.name, length: fn.length }),
  ) as Call;
}

/** Wraps the hand-written functions of a namespace, and of those inside it, to check their argument counts. */
export function countArguments<T extends object>(space: T, at = ''): T {
  const made: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(space)) {
    if (typeof value === 'function') made[name] = isClass(value) ? value : counting(at + name, value);
    else made[name] = typeof value === 'object' && value !== null ? countArguments(value, `${at}${name}.`) : value;
  }
  return (Object.isFrozen(space) ? Object.freeze(made) : made) as T;
}

/**
 * Makes methods of a class refuse extra arguments, such as `recurse` by position in `namedParameters('', false)`, which JavaScript
 * would ignore. A method of a subclass with the same name takes what it likes.
 */
export function limitMethods(
  { name, prototype }: { name: string; prototype: object },
  limits: Readonly<Record<string, number>>,
): void {
  for (const [method, count] of Object.entries(limits)) {
    const found = Object.getOwnPropertyDescriptor(prototype, method)!;
    const nameOf = (receiver: unknown) => `${(receiver as object | null)?.constructor?.name ?? name}.${method}`;
    Object.defineProperty(prototype, method, { ...found, value: limited(nameOf, count, found.value) });
  }
}
