/** The ops that public functions are made of, as functions: methods are on the tensors themselves. */
import { spaces } from '../functions';

/** Typed where they are called: by what they return. */
type Op = (...args: any[]) => any;
type Ops = Readonly<Record<string, Op>>;

const all = (name: string): Ops => ({ ...spaces[name], ...spaces[`_${name}`] }) as Ops;

/** torch's own, those that a public function replaces with them. */
export const aten: Ops = all('');
/** torch._C._nn. */
export const nn: Ops = all('nn.functional');
export const linalg: Ops = all('linalg');
export const sparse: Ops = all('sparse');
