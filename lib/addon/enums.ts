/** dtypes, layouts and memory formats are strings in JavaScript and numbers at the boundary. */
import type { DType, DTypeLike, Layout, MemoryFormat } from '../../types/base';
import { native } from './native';

const names = native.enums();

function codesOf(list: readonly string[]): ReadonlyMap<string, number> {
  const codes = new Map<string, number>();
  list.forEach((name, code) => {
    if (name !== '') codes.set(name, code);
  });
  return codes;
}

export const dtypeCodes = codesOf(names.dtypes);
export const layoutCodes = codesOf(names.layouts);
export const memoryFormatCodes = codesOf(names.memoryFormats);

export const dtypeName = (code: number): DType => names.dtypes[code] as DType;
export const layoutName = (code: number): Layout => names.layouts[code] as Layout;

/** Every dtype of this libtorch. */
export const dtypes: readonly DType[] = [...dtypeCodes.keys()] as DType[];
export const layouts: readonly Layout[] = [...layoutCodes.keys()] as Layout[];
export const memoryFormats: readonly MemoryFormat[] = [...memoryFormatCodes.keys()] as MemoryFormat[];

/** PyTorch's aliases of dtypes: `torch.long` is `torch.int64`. `bit` is left out where libtorch has no `uint1`. */
const otherNames: Readonly<Record<string, string>> = {
  half: 'float16',
  float: 'float32',
  double: 'float64',
  short: 'int16',
  int: 'int32',
  long: 'int64',
  chalf: 'complex32',
  cfloat: 'complex64',
  cdouble: 'complex128',
  bit: 'uint1',
};

/** The aliases whose dtype this libtorch has. */
export const dtypeAliases = Object.fromEntries(
  Object.entries(otherNames).filter(([, name]) => dtypeCodes.has(name as DType)),
) as Readonly<Record<string, DType>>;

/** The accepted dtype arguments: names, and PyTorch's aliases such as 'float'. */
export const givenDtypeCodes: ReadonlyMap<string, number> = new Map([
  ...dtypeCodes,
  ...Object.entries(dtypeAliases).map(([alias, name]) => [alias, dtypeCodes.get(name)!] as const),
]);

/** Resolves an alias: 'float32' for 'float'. Other values stay unchanged, for the caller to refuse. */
export const canonicalDtype = (given: DTypeLike): DType =>
  typeof given === 'string' && Object.hasOwn(dtypeAliases, given) ? dtypeAliases[given]! : (given as DType);
