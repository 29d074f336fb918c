/** torch.nn.utils. */
export {
  type ClipOptions,
  clipGradNorm_,
  clipGradValue_,
  parametersToVector,
  vectorToParameters,
} from './gradients';
export * as rnn from './rnn';
