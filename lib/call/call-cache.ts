/**
 * A cache of call forms: the number of positional arguments and the names of the options. Which overloads can take a form,
 * and the source of each parameter, is determined once; after that only the values are checked. (After the inline caches of
 * JavaScript engines.) The result is that of lib/call/parse.ts, or the call is left to it: a value fits, does not fit, or is not
 * decided here.
 */
import { givenDtypeCodes, layoutCodes, memoryFormatCodes } from '../addon/enums';
import { Kind, Plain } from '../generated/codes';
import type { ReadCall } from '../tensor/reading';
import { Tensor } from '../tensor/tensor';
import { type Plan, planOf } from './again';
import { convertDefault } from './convert';
import { NativeObject } from './object';
import { packed, packedHandles } from './packed';
import { type Bound, isNoneByDefault } from './parse';
import { isInteger, isPlain } from './plain';
import type { Param, Signature, TypeCode } from './signature';

/** The call site of one wrapper. */
export interface Site {
  readonly name: string;
  readonly candidates: readonly Signature[];
  /** the first `self` of the candidates is `this` */
  readonly method: boolean;
  /** names as in the schema, for the raw form */
  readonly raw: boolean;
  readonly forms: Form[];
  /** the form of the last call */
  last: Form | null;
}

export function siteOf(name: string, candidates: readonly Signature[], method = false, raw = false): Site {
  return { name, candidates, method, raw, forms: [], last: null };
}

export interface Form {
  readonly count: number;
  readonly keys: readonly string[];
  /** The overloads that may take such a call, in PyTorch's order. */
  readonly candidates: readonly (Candidate | null)[];
  /** How lib/call/again.ts takes such a call; null if it does not. */
  readonly plan: Plan | null;
}

/** An overload that takes calls of a form if the values fit. */
export interface Candidate {
  readonly signature: Signature;
  /** For each parameter: a position, SELF, DEFAULT, or an option: FIRST_OPTION minus its place among the keys. */
  readonly sources: readonly number[];
  readonly defaults: readonly unknown[];
  /** the index of `requiresGrad` among the keys, or -1 */
  readonly requiresGrad: number;
  /** The positions of lists that are passed in shared memory: those of ops, at most six. */
  readonly packs: readonly number[];
  /** The same for lists of tensors. */
  readonly tensorPacks: readonly number[];
  /** Whether integers in place of the only positional parameter, a list, are its elements: `view(2, 3)`. */
  readonly gathers: boolean;
}

export const SELF = -1;
export const DEFAULT = -2;
export const FIRST_OPTION = -3;

/** The most forms cached per wrapper; further ones are left to the parser. */
const MAX_FORMS = 12;
const NO_KEYS: readonly string[] = [];
const NO_VALUES: readonly never[] = [];

/** The value does not fit the parameter. */
export const NO = Symbol('no');
/** The parser has to decide. */
export const UNSURE: unique symbol = Symbol('unsure');

/** The call as the overload that the parser would choose; undefined if the parser has to decide. */
export function boundByForm(site: Site, call: ReadCall, self: unknown): Bound | undefined {
  const keys = call.keys ?? NO_KEYS;
  const count = call.positional.length;
  let form = site.last;
  if (form === null || form.count !== count || !sameNames(form.keys, keys)) {
    form = formOf(site, count, keys);
    if (form === null) return undefined;
    site.last = form;
  }
  const { candidates } = form;
  for (let i = 0; i < candidates.length; i++) {
    const candidate = candidates[i]!;
    if (candidate === null) return undefined;
    const bound = take(candidate, call, self);
    if (bound === UNSURE) return undefined;
    if (bound !== NO) return bound as Bound;
  }
  return undefined;
}

/** Null for a new form when there are too many already. */
function formOf(site: Site, count: number, keys: readonly string[]): Form | null {
  const { forms } = site;
  for (let i = 0; i < forms.length; i++) {
    const form = forms[i]!;
    if (form.count === count && sameNames(form.keys, keys)) return form;
  }
  if (forms.length === MAX_FORMS) return null;
  const candidates: (Candidate | null)[] = [];
  for (const signature of site.candidates) {
    const candidate = candidateOf(signature, site, count, keys);
    if (candidate === undefined) continue;
    candidates.push(candidate);
    if (candidate === null) break;
  }
  const form = { count, keys, candidates, plan: planOf(candidates[0] ?? null, count, keys) };
  forms.push(form);
  return form;
}

export function sameNames(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** Whether integers are gathered into one list: see gatherSizes() in parse.ts. */
function gathersIntegers(slots: readonly Param[], count: number): boolean {
  if (slots.length !== 1 || count === 0) return false;
  const { list, base, size } = slots[0]!.type;
  return list && base === Kind.Int && size === 0;
}

/** How an overload takes calls of a form: undefined if it does not, null if only the parser can decide. See bind() there. */
function candidateOf(
  signature: Signature,
  site: Site,
  count: number,
  keys: readonly string[],
): Candidate | null | undefined {
  const { params, outs } = signature;
  const isSelf = (i: number) => site.method && i === signature.self;
  const slots = params.filter((param, i) => !param.keywordOnly && !param.out && !isSelf(i));
  if (!site.raw && slots.length > 0 && slots[slots.length - 1]!.variadic) return null;
  const gathers = !site.raw && gathersIntegers(slots, count);
  if (!gathers && count > slots.length) return undefined;
  const used = new Set<string>();
  let out = -1;
  if (keys.includes('out') && outs.length > 0) {
    if (outs.length > 1) return null;
    out = outs[0]!;
    used.add('out');
  }
  const sources: number[] = [];
  let next = 0;
  for (let i = 0; i < params.length; i++) {
    const param = params[i]!;
    let source = DEFAULT;
    if (isSelf(i)) source = SELF;
    else if (out === i) source = FIRST_OPTION - keys.indexOf('out');
    else if (!param.keywordOnly && !param.out && next < count) source = next++;
    const name = nameAmong(keys, param, site.raw);
    if (name !== undefined && !used.has(name)) {
      if (source !== DEFAULT) return undefined;
      source = FIRST_OPTION - keys.indexOf(name);
      used.add(name);
    }
    if (source === DEFAULT && !param.optional) return undefined;
    sources.push(source);
  }
  let requiresGrad = -1;
  for (let i = 0; i < keys.length; i++) {
    if (used.has(keys[i]!)) continue;
    if (keys[i] !== 'requiresGrad' || !signature.factory || site.raw) return undefined;
    requiresGrad = i;
  }
  const defaults = params.map(({ defaultValue, type }, i) =>
    sources[i] === DEFAULT ? convertDefault(defaultValue, type) : undefined,
  );
  const lists = params.flatMap(({ type }, i) =>
    type.list && type.base === Kind.Int && sources[i] !== DEFAULT ? [i] : [],
  );
  const packs = signature.number >= 0 && lists.length <= 6 ? lists : [];
  const tensorLists = params.flatMap(({ type }, i) =>
    type.list && type.base === Kind.Tensor && sources[i] !== DEFAULT ? [i] : [],
  );
  const tensorPacks = signature.number >= 0 && tensorLists.length <= 3 ? tensorLists : [];
  return { signature, sources, defaults, requiresGrad, packs, tensorPacks, gathers };
}

function nameAmong(keys: readonly string[], param: Param, raw: boolean): string | undefined {
  const name = raw ? param.name : param.jsName;
  if (keys.includes(name)) return name;
  return !raw && param.name === 'self' && keys.includes('input') ? 'input' : undefined;
}

/** The value of the list that is the only positional parameter; UNSURE if the parser has to decide. */
function gathered(positional: readonly unknown[]): unknown {
  if (positional.every(isInteger)) return positional;
  return positional.length === 1 ? positional[0] : UNSURE;
}

function take(
  { signature, sources, defaults, requiresGrad, packs, tensorPacks, gathers }: Candidate,
  { positional, values: options }: ReadCall,
  self: unknown,
): Bound | typeof NO | typeof UNSURE {
  const { params, number, wraps } = signature;
  const { length } = params;
  const values = new Array<unknown>(length);
  // Only results that are arguments, and hand-written functions, need them.
  const given: unknown[] | null = wraps && number >= 0 ? null : new Array<unknown>(length);
  for (let i = 0; i < length; i++) {
    const source = sources[i]!;
    if (source === DEFAULT) {
      values[i] = defaults[i];
      continue;
    }
    const value =
      source >= 0
        ? gathers
          ? gathered(positional)
          : positional[source]
        : source === SELF
          ? self
          : options[FIRST_OPTION - source];
    if (value === UNSURE) return UNSURE;
    const converted = quick(value, params[i]!);
    if (converted === NO || converted === UNSURE) return converted;
    values[i] = converted;
    if (given !== null) given[i] = value;
  }
  let wanted: unknown = false;
  if (requiresGrad >= 0) {
    wanted = options[requiresGrad];
    if (typeof wanted !== 'boolean') return UNSURE;
  }
  // Last: reading the handle of a Proxy around a tensor runs user code, which may write to the shared memory too.
  for (let i = 0; i < packs.length; i++) {
    const list = values[packs[i]!];
    if (list !== null) values[packs[i]!] = packed(list as number[]);
  }
  for (let i = 0; i < tensorPacks.length; i++) {
    const list = values[tensorPacks[i]!];
    if (list !== null) values[tensorPacks[i]!] = packedHandles(list as number[]);
  }
  return { signature, values, given: given ?? NO_VALUES, requiresGrad: wanted as boolean };
}

/** The result of lib/call/convert.ts, with zero-dimensional tensors treated as tensors; or NO, or UNSURE. */
export function quick(value: unknown, param: Param): unknown {
  const { type } = param;
  if (value === undefined) return UNSURE;
  if (value === null) return type.nullable && !isNoneByDefault(param) ? null : UNSURE;
  if (type.list) return quickList(value, type);
  if (type.plain === Plain.Tensor) return value instanceof Tensor ? handleOf(value) : unlessObject(value);
  return isPlain(value, type.plain) ? value : quickOther(value, type.base);
}

/** The same for a value that is not plain. */
function quickOther(value: unknown, base: Kind): unknown {
  switch (base) {
    case Kind.NumberTensor:
      if (typeof value === 'number') return [value];
      return value instanceof Tensor ? handleOf(value) : UNSURE;
    case Kind.Scalar:
      return typeof value === 'boolean' ? value : unlessBigint(value);
    case Kind.Int:
      return unlessBigint(value);
    case Kind.Float:
      return typeof value === 'boolean' ? UNSURE : unlessBigint(value);
    case Kind.Bool:
    case Kind.Str:
      return unlessObject(value);
    case Kind.Dtype:
      return named(givenDtypeCodes, value);
    case Kind.Layout:
      return named(layoutCodes, value);
    case Kind.MemoryFormat:
      return typeof value === 'string' ? (memoryFormatCodes.get(value) ?? UNSURE) : unlessObject(value);
    case Kind.Device:
      return typeof value === 'string' ? value : UNSURE;
    case Kind.Generator:
      return value instanceof NativeObject && value._class === 'Generator' ? value._handle : unlessObject(value);
    case Kind.Dimname:
      return typeof value === 'string' ? value : unlessObject(value);
    case Kind.Any:
      return value;
    default:
      return UNSURE;
  }
}

/** The handle of a tensor; negative for a pending one. */
const handleOf = ({ _handle }: Tensor): number | typeof UNSURE => (_handle > 0 || _handle < 0 ? _handle : UNSURE);

/** NO for primitives and tensors; UNSURE for other objects, which may convert. */
const unlessObject = (value: unknown) =>
  value instanceof Tensor || (typeof value !== 'object' && typeof value !== 'function') ? NO : UNSURE;
const unlessBigint = (value: unknown) => (typeof value === 'bigint' ? UNSURE : unlessObject(value));

const named = (codes: ReadonlyMap<string, number>, value: unknown) =>
  typeof value === 'string' ? (codes.get(value) ?? NO) : unlessObject(value);

function quickList(value: unknown, { base, plain, size, elementNullable }: TypeCode): unknown {
  if (value instanceof Tensor) return NO;
  if (typeof value === 'number') {
    if (base === Kind.Tensor || base === Kind.Dimname) return NO;
    if (base !== Kind.Int || size === 0 || elementNullable) return UNSURE;
    if (!Number.isInteger(value)) return NO;
    return new Array<number>(size).fill(value);
  }
  if (!Array.isArray(value)) return UNSURE;
  switch (base) {
    case Kind.Int:
    case Kind.Float:
      return !elementNullable && value.every((one) => isPlain(one, plain)) ? value : UNSURE;
    case Kind.Tensor:
      return handlesOf(value, elementNullable);
    case Kind.Dimname:
      return typeof value[0] === 'number' ? NO : UNSURE;
    default:
      return UNSURE;
  }
}

function handlesOf(list: readonly unknown[], isNullable: boolean): unknown {
  const handles = new Array<number>(list.length);
  for (let i = 0; i < list.length; i++) {
    const tensor = list[i];
    const handle = tensor instanceof Tensor ? handleOf(tensor) : tensor === null && isNullable ? 0 : UNSURE;
    if (handle === UNSURE) return UNSURE;
    handles[i] = handle as number;
  }
  return handles;
}
