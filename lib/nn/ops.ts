/** The ops and functions that modules call. Their types are loose: the modules' own declarations are what programs see. */
import { publics } from '../addon/wrappers';
import { publicFunction } from '../call/define';
import { spaces } from '../call/functions';
import '../public';

/** `torch.nn.functional`. */
export const F: Record<string, any> = { ...spaces['nn.functional'] };
for (const name of Object.keys(publics['nn.functional'] ?? {})) F[name] ??= publicFunction('nn.functional', name);

/** torch's ops. Those with a leading underscore are internal, but Python's modules call some of them. */
export const aten: Record<string, any> = { ...spaces['_nn.functional'], ...spaces[''], ...spaces._ };

/** `torch.linalg`. */
export const linalg: Record<string, any> = { ...spaces.linalg };

/** `torch.norm`, whose op takes no names of norms. */
export const norm: (...args: any[]) => any = publicFunction('', 'norm');
