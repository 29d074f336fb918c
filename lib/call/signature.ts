/** Decodes the signature codes of lib/generated/table.js, on first use of an op. (Written by codegen's js_text.cpp.) */
import { kinds, readTable, rowCount } from '../addon/wrappers';
import { Kind, type Plain } from '../generated/codes';

export interface TypeCode {
  readonly base: Kind;
  /** the values that need no conversion; of the elements for lists */
  readonly plain: Plain;
  /** null means "none" */
  readonly nullable: boolean;
  readonly list: boolean;
  readonly elementNullable: boolean;
  /** N of `int[N]`, else 0 */
  readonly size: number;
}

export interface Param {
  /** schema name */
  readonly name: string;
  /** the name in JavaScript */
  readonly jsName: string;
  readonly type: TypeCode;
  readonly optional: boolean;
  readonly defaultValue: unknown;
  readonly keywordOnly: boolean;
  readonly out: boolean;
  /** a list that may be passed as the remaining positional arguments */
  readonly variadic: boolean;
}

export interface Result {
  /** the argument that is returned, or -1 */
  readonly argument: number;
  readonly type: TypeCode;
  readonly jsName: string;
}

export interface Signature {
  readonly number: number;
  /** "add.Tensor" */
  readonly name: string;
  readonly schema: string;
  readonly params: readonly Param[];
  readonly results: readonly Result[];
  /** positions of the out arguments */
  readonly outs: readonly number[];
  /** position of `Tensor self`, or -1 */
  readonly self: number;
  /** takes dtype, layout, device and pin_memory, and therefore `requiresGrad` */
  readonly factory: boolean;
  /** returns one new tensor: lib/tensor/tensor.ts's wrap() makes the result */
  readonly wraps: boolean;
}

const reserved = new Set(
  `arguments await break case catch class const continue debugger default delete do else enum eval export extends false
  finally for function if implements import in instanceof interface let new null package private protected public return
  static super switch this throw true try typeof var void while with yield`.split(/\s+/),
);

/** "align_corners" -> "alignCorners"; outer underscores stay. The same rule as codegen's names.cpp. */
export function camelCase(name: string): string {
  return name.replace(/(?<=[^_])_+([^_])/g, (_, next: string) => next.toUpperCase());
}

const argumentName = (name: string) => {
  const js = camelCase(name);
  return reserved.has(js) ? `${js}_` : js;
};

const types = new Map<string, TypeCode>();

function decodeType(code: string): TypeCode {
  let type = types.get(code);
  if (type === undefined) {
    const match = /^(\w)(\?)?(?:\[(\d*)\])?(\?)?$/.exec(code);
    if (match === null) throw new Error(`unknown type code ${code}`);
    const list = match[3] !== undefined;
    const base = match[1] as Kind;
    type = {
      base,
      plain: kinds[base].plain,
      nullable: list ? match[4] !== undefined : match[2] !== undefined,
      list,
      elementNullable: list && match[2] !== undefined,
      size: Number(match[3] || 0),
    };
    types.set(code, type);
  }
  return type;
}

function decodeParam(text: string): Param {
  const flags = /^[*>!~]*/.exec(text)![0];
  const [name, type, ...rest] = text.slice(flags.length).split(' ');
  return {
    name: name!,
    jsName: argumentName(name!),
    type: decodeType(type!),
    optional: rest.length > 0,
    defaultValue: rest.length > 0 ? JSON.parse(rest.join(' ')) : undefined,
    keywordOnly: flags.includes('*'),
    out: flags.includes('>'),
    variadic: flags.includes('~'),
  };
}

function decodeResult(text: string, params: readonly Param[]): Result {
  const [code, name] = text.split(' ');
  const jsName = name === undefined ? '' : camelCase(name);
  if (!code!.startsWith('@')) return { argument: -1, type: decodeType(code!), jsName };
  const argument = Number(code!.slice(1));
  return { argument, type: params[argument]!.type, jsName };
}

const isTensorKind = (base: Kind) => base === Kind.Tensor || base === Kind.NumberTensor;

const signatures: (Signature | undefined)[] = new Array(rowCount).fill(undefined);
const factoryOptions = ['dtype', 'layout', 'device', 'pin_memory'];

/** A signature from its three texts. `number` is the row of the op table, or -1. */
export function decodeSignature(number: number, [name, schema, code]: readonly [string, string, string]): Signature {
  const [inputs, outputs] = code.split('=>') as [string, string];
  const params = inputs === '' ? [] : inputs.split('|').map(decodeParam);
  const results = outputs === '' ? [] : outputs.split('|').map((text) => decodeResult(text, params));
  const [first] = results;
  return {
    number,
    name,
    schema,
    params,
    results,
    outs: params.flatMap((param, i) => (param.out ? [i] : [])),
    self: params.findIndex((param) => param.name === 'self' && isTensorKind(param.type.base) && !param.type.list),
    factory: factoryOptions.every((option) => params.some((param) => param.name === option && param.keywordOnly)),
    wraps: results.length === 1 && first!.argument < 0 && first!.type.base === Kind.Tensor && !first!.type.list,
  };
}

/** The signature of a row of the op table. */
export function signature(number: number): Signature {
  let result = signatures[number];
  if (result === undefined) {
    result = decodeSignature(number, readTable().table[number]!);
    signatures[number] = result;
  }
  return result;
}
