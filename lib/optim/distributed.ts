/** torch.distributed with its optimizers, which lib/distributed does not know. */
export * from '../distributed';
export * as optim from './zero';
