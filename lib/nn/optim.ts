/** torch.optim with what needs modules: lib/optim does not know torch.nn. */
export * from '../optim';
export * as swaUtils from './swa-utils';
