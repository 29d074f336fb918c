/** Everything in torch.nn that depends on the release of libtorch. */
import { since } from '../optim/release';

const is2 = since(2, 0);

/** Fused layers keep `requiresGrad` and the dtypes of the layer; before, their parameters required gradients. */
export const fusedKeepsOptions = is2;
