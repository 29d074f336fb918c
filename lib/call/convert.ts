/** Converts JS values to native ones, by type code. Returns a mismatch instead of throwing, because overloads are tried. */
import { types } from 'node:util';
import { givenDtypeCodes, layoutCodes, memoryFormatCodes } from '../addon/enums';
import { native } from '../addon/native';
import { kinds } from '../addon/wrappers';
import { deviceName } from '../errors/devices';
import { describe } from '../errors/errors';
import { isComplex, Stream } from '../errors/values';
import { Kind } from '../generated/codes';
import { isPendingTensor } from '../tensor/pending';
import { elementsOf, Iterated, typedElements } from '../tensor/reading';
import { isMarked, isTensor, type Tensor } from '../tensor/tensor';
import { NativeObject } from './object';
import { isPlain } from './plain';
import type { TypeCode } from './signature';

/** Why a value does not fit. */
export class Mismatch {
  constructor(
    readonly expected: string,
    readonly got: string,
    /** the expected base type, of an element for lists */
    readonly base: Kind,
    /** the value that was passed, or the wrong element of a list */
    readonly value: unknown,
    /** a list was expected */
    readonly list = false,
  ) {}

  /** Whether it can fit no parameter: a promise, a tensor of another addon. */
  get never(): boolean {
    return types.isPromise(this.value) || (isMarked(this.value) && !isTensor(this.value));
  }
}

const expectedOf = (base: Kind) => kinds[base].expected;
/** The first words of the types' names, such as "integer" and "memory"; not `true`, which is a value. */
const nouns = new Set(
  Object.values(kinds)
    .map(({ expected }) => expected.split(/\W/)[0]!)
    .filter((word) => word !== 'true'),
);
export const isNoun = (word: string): boolean => nouns.has(word);
/** "integer" -> "an array of integers". Longer descriptions stay as they are. */
function arrayOf(expected: string): string {
  const words = expected.split(/(, | or )/);
  if (!words.every((word) => /^(\w+|, | or )$/.test(word))) return `an array of ${expected}`;
  const many = words.map((word) => (word === 'complex' ? 'complex numbers' : /^\w/.test(word) ? `${word}s` : word));
  return `an array of ${many.join('')}`;
}
const mismatch = (base: Kind, value: unknown) => new Mismatch(expectedOf(base), describe(value), base, value);

/** The handle of a tensor, or a mismatch. Native code would treat a missing handle as "no tensor". */
function handleOf(value: unknown): number | Mismatch {
  if (isTensor(value))
    return value._handle > 0 || isPendingTensor(value) ? value._handle : mismatch(Kind.Tensor, value);
  if (!isMarked(value)) return mismatch(Kind.Tensor, value);
  const foreign = typeof value.dispose === 'function';
  return new Mismatch(
    'Tensor',
    `a ${foreign ? 'Tensor of another copy of libtorch-node' : "copy of a Tensor's properties"}`,
    Kind.Tensor,
    value,
  );
}

/** A zero-dimensional tensor counts as a number, as in PyTorch, unless its gradient would be lost. */
function isNumberTensor(value: unknown): value is Tensor {
  return (
    isTensor(value) && value._handle > 0 && native.ndim(value._handle) === 0 && !native.requiresGrad(value._handle)
  );
}

function code(codes: ReadonlyMap<string, number>, base: Kind, value: unknown): unknown {
  if (typeof value !== 'string') return mismatch(base, value);
  const found = codes.get(value);
  if (found !== undefined) return found;
  const expected = `one of ${[...codes.keys()].map((name) => `'${name}'`).join(', ')}`;
  return new Mismatch(expected, describe(value), base, value);
}

/** libtorch's syntax for names of dimensions. '0' is not one: a number was meant. */
const NAME = /^(\*|\.\.\.|[A-Za-z_][A-Za-z0-9_]*)$/;

/** Whether libtorch takes the value as the name of a dimension. */
export const isDimensionName = (value: unknown): value is string => typeof value === 'string' && NAME.test(value);

/** Whether it is a number of any kind. */
export function isScalar(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean' || isComplex(value);
}

function convertOne(value: unknown, { base, plain }: TypeCode, numbers: boolean): unknown {
  if (isPlain(value, plain)) return value;
  switch (base) {
    case Kind.Tensor:
      return handleOf(value);
    case Kind.NumberTensor:
      // In an array, to distinguish it from a handle: number_tensor() of native/convert.
      if (isScalar(value)) return [value];
      return isTensor(value) || isMarked(value) ? handleOf(value) : mismatch(base, value);
    case Kind.Scalar:
      if (isScalar(value)) return value;
      return numbers && isNumberTensor(value) ? value.item() : mismatch(base, value);
    case Kind.Int:
      if (typeof value === 'bigint') return value;
      if (numbers && isNumberTensor(value)) {
        const item = value.item();
        if (Number.isInteger(item) || typeof item === 'bigint') return item;
      }
      return mismatch(base, value);
    case Kind.Float:
      if (typeof value === 'bigint') return value;
      if (typeof value === 'boolean') return Number(value); // as in Python, where True is a number
      if (numbers && isNumberTensor(value)) {
        const item = value.item();
        if (typeof item === 'number' || typeof item === 'bigint') return item;
      }
      return mismatch(base, value);
    case Kind.DeviceIndex:
      return Number.isInteger(value) ? value : mismatch(base, value);
    case Kind.Bool:
    case Kind.Str:
      return mismatch(base, value);
    case Kind.SymBool:
      return typeof value === 'boolean' ? value : mismatch(base, value);
    case Kind.QScheme:
      return typeof value === 'string' ? value : mismatch(base, value);
    case Kind.Device:
      return deviceName(value) ?? mismatch(base, value);
    case Kind.Dtype:
      return code(givenDtypeCodes, base, value);
    case Kind.Layout:
      return code(layoutCodes, base, value);
    case Kind.MemoryFormat:
      // torch.contiguous_format is 'contiguous', and so on.
      return code(memoryFormatCodes, base, typeof value === 'string' ? value.replace(/_format$/, '') : value);
    case Kind.Generator:
      return value instanceof NativeObject && value._class === 'Generator' ? value._handle : mismatch(base, value);
    case Kind.ScriptModule:
      return value instanceof NativeObject && value._class === 'ScriptModule' ? value._handle : mismatch(base, value);
    case Kind.Storage:
      return handleOf(value);
    case Kind.Stream:
      return value instanceof Stream ? [value.device, value.id] : mismatch(base, value);
    case Kind.Dimname:
      return isDimensionName(value) || value === null ? value : mismatch(base, value);
    case Kind.Any:
      return value;
    case Kind.True:
      return value === true ? value : mismatch(base, value);
    default:
      return base satisfies never; // a new base type needs a case here
  }
}

/** The elements of a list argument: an array, a typed array of integers, or for tensors any iterable. */
function elements(value: unknown, type: TypeCode): readonly unknown[] | undefined {
  if (value instanceof Iterated && type.base !== Kind.Tensor) return undefined;
  const list = elementsOf(value);
  if (list !== undefined || typeof value !== 'object' || value === null) return list;
  return ArrayBuffer.isView(value) && !(value instanceof DataView) ? typedElements(value) : undefined;
}

function convertList(value: unknown, type: TypeCode, numbers: boolean): unknown {
  if (type.size > 0 && type.base !== Kind.Bool && !Array.isArray(value) && !isTensor(value)) {
    const single = convertOne(value, type, numbers);
    // A number is accepted for an int[N] of a fixed N.
    if (!(single instanceof Mismatch)) return new Array(type.size).fill(single);
  }
  const list = elements(value, type);
  if (list === undefined) {
    return new Mismatch(arrayOf(expectedOf(type.base)), describe(value), type.base, value, true);
  }
  if (type.base === Kind.Bool && type.size > 0 && list.length !== type.size) {
    return new Mismatch(`an array of ${type.size} booleans`, `one of ${list.length}`, Kind.Bool, value, true);
  }
  const result: unknown[] = new Array(list.length);
  for (let i = 0; i < list.length; i++) {
    const element = list[i];
    if (type.elementNullable && (element === null || element === undefined)) {
      result[i] = 0;
      continue;
    }
    const converted = convertOne(element, type, numbers);
    if (converted instanceof Mismatch) {
      const { expected, got, base, value: culprit } = converted;
      return new Mismatch(arrayOf(expected), `${got} at [${i}]`, base, culprit);
    }
    result[i] = converted;
  }
  return result;
}

/**
 * The native value of a value that was read (lib/tensor/reading.ts), or a Mismatch. `numbers`: whether zero-dimensional tensors
 * count as numbers.
 */
export function convert(value: unknown, type: TypeCode, numbers = true): unknown {
  if (value === null || value === undefined) {
    if (type.nullable) return null;
    if (type.base === Kind.Dimname && !type.list && value === null) return null;
    const expected = type.list ? arrayOf(expectedOf(type.base)) : expectedOf(type.base);
    return new Mismatch(expected, describe(value), type.base, value, type.list);
  }
  return type.list ? convertList(value, type, numbers) : convertOne(value, type, numbers);
}

/** The native value of a default, which codegen stores as JSON. */
export function convertDefault(value: unknown, type: TypeCode): unknown {
  return convert(value, type);
}
