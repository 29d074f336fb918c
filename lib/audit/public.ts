/** `torch.audit`. */
export { type LabelValue, label } from './label';
