/** Module.toEmpty. */
import { flagOf, ownOptions } from '../addon/options';
import { argumentError } from '../errors/errors';
import type { Tensor } from '../tensor/tensor';
import { replaceData } from './conversion';
import type { Module } from './module';

/** What `Module.toEmpty` takes. */
export interface EmptyOptions {
  device: string | null;
  /** Whether the modules in it get memory too. Default: true. */
  recurse?: boolean | undefined;
}

export function emptied<M extends Module>(module: M, options: EmptyOptions): M {
  const { device, recurse } = ownOptions('toEmpty', options, ['device', 'recurse']);
  if (device === undefined) throw argumentError('toEmpty', 'device', "a device such as 'cpu', or null", device);
  const to = device === null ? {} : { device };
  const all = flagOf('toEmpty', 'recurse', recurse, true);
  return replaceData(module, (tensor) => tensor.emptyLike(to as never) as Tensor, all);
}
