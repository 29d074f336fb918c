/** Facts that differ from libtorch to libtorch; the only place in the tests that has any. */
import { untyped } from './torch';

/** '1.13' */
export const release: string = untyped.libtorchVersion.split('.').slice(0, 2).join('.');

/** Named dimensions left libtorch in the course of 2.x. */
export const hasDimensionNames: boolean = 'refineNames' in untyped.Tensor.prototype;

/** How many operators each declares. */
const declarations: Record<string, number> = { '1.13': 2952, '2.6': 3144, '2.14': 3103 };

/** For another libtorch the ledger alone says how many there are. */
export const declared = (inLedger: number): number => declarations[release] ?? inLedger;
