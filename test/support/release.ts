/** Differences between versions of libtorch; tests have them only here. */
import { untyped } from './torch';

/** '1.13' */
export const release: string = untyped.libtorchVersion.split('.').slice(0, 2).join('.');

/** Named dimensions were removed from libtorch during 2.x. */
export const hasDimensionNames: boolean = 'refineNames' in untyped.Tensor.prototype;

/**
 * Calls (JavaScript) for which PyTorch for Python behaves differently, with the reason: functions of ours that
 * are not ops are the same for every libtorch, PyTorch's are its release's. A listed call that agrees is a failure.
 */
const noNormDtype = 'PyTorch 1.13 refuses a dtype for this norm';
const ofPyTorch2 = {
  'F.fractionalMaxPool2d(img, 2, { outputRatio: 0.5, _randomSamples: samples })':
    'PyTorch 2 takes the length of a ratio that is a number',
  'F.multiHeadAttentionForward(q, k, vv, 4, 2, wIn, bIn, null, null, false, 0, wOut, bOut, { attnMask: am.byte() })':
    'PyTorch 2 refuses masks of bytes',
};
const otherwise: Record<string, Record<string, string>> = {
  '1.13': {
    'torch.norm(x, { p: "fro", dtype: "float64" })': noNormDtype,
    'torch.norm(x, { p: "nuc", dtype: "float64" })': noNormDtype,
  },
  '2.6': ofPyTorch2,
  '2.14': ofPyTorch2,
};
export const pythonDiffers: Readonly<Record<string, string>> = otherwise[release] ?? {};

/** Calls that libtorch and PyTorch once accepted and now refuse. */
const largeWindow = 'F.maxPool1d(seq, 99)';
const refused: Record<string, string[]> = { '2.6': [largeWindow], '2.14': [largeWindow] };
export const refusedByNow: readonly string[] = refused[release] ?? [];

/** How many operators each declares. */
const declarations: Record<string, number> = { '1.13': 2952, '2.6': 3144, '2.14': 3103 };

/** For another libtorch only the ledger gives the number. */
export const declared = (inLedger: number): number => declarations[release] ?? inLedger;

/** Packages of AOTInductor: libtorch loads them from 2.6 on, and from 2.7 on their source tells of their inputs. */
const [major, minor] = release.split('.').map(Number) as [number, number];
export const loadsPackages: boolean = major > 2 || (major === 2 && minor >= 6);
export const packagesCheckInputs: boolean = major > 2 || (major === 2 && minor >= 7);
