/** torch.nn.utils. */
export { fuseConvBnEval, fuseConvBnWeights, fuseLinearBnEval, fuseLinearBnWeights, skipInit } from './fusion';
export {
  type ClipOptions,
  clipGradNorm_,
  clipGradValue_,
  parametersToVector,
  vectorToParameters,
} from './gradients';
export { removeSpectralNorm, removeWeightNorm, spectralNorm, weightNorm } from './norms';
export * as parametrizations from './parametrizations';
export * as parametrize from './parametrize';
export * as prune from './prune';
export * as rnn from './rnn';
