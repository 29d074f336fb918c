/** torch.optim.swaUtils with what needs modules. */
export * from '../optim/swa-utils';
export { AveragedModel, updateBn } from './averaged';
