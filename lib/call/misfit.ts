/** Errors for calls that fit no overload: the likeliest reason in one sentence, then the reason of each signature. */

import { codedError, describe, type TorchError } from '../errors/errors';
import { didYouMean } from '../errors/suggest';
import { Kind } from '../generated/codes';
import { Tensor } from '../tensor/tensor';
import { convert, isNoun, Mismatch } from './convert';
import { hintOf } from './hints';
import type { Param, Signature } from './signature';

export type Options = Record<string, unknown>;

/** The parser's input. */
export interface Call {
  readonly positional: readonly unknown[];
  readonly options: Options | undefined;
  readonly self: Tensor | undefined;
  /** names as in the schema, for the raw form */
  readonly raw: boolean;
}

/** What is wrong with a call. */
export type Fault =
  | { readonly kind: 'count'; readonly most: number; readonly given: number }
  | { readonly kind: 'option'; readonly name: string }
  | { readonly kind: 'missing'; readonly argument: string }
  | { readonly kind: 'twice'; readonly argument: string }
  | { readonly kind: 'value'; readonly argument: string; readonly mismatch: Mismatch };

/** Why a call does not fit an overload. The text is made lazily, because overloads are tried. */
export class Misfit {
  constructor(
    readonly fault: Fault,
    /** the number of fitting arguments before the fault */
    readonly fitting = 0,
  ) {}

  text(): string {
    const { fault } = this;
    switch (fault.kind) {
      case 'count':
        return `takes ${fault.most} positional argument${fault.most === 1 ? '' : 's'}, got ${fault.given}`;
      case 'option':
        return `there is no option '${fault.name}'`;
      case 'missing':
        return `argument '${fault.argument}' is missing`;
      case 'twice':
        return `argument '${fault.argument}' is given twice`;
      case 'value':
        return `argument '${fault.argument}': expected ${withArticle(fault.mismatch.expected)}, got ${fault.mismatch.got}`;
    }
  }
}

/** "integer or …" -> "an integer or …", as native code says it. Descriptions with an article, and values, stay. */
function withArticle(text: string): string {
  if (!isNoun(/^\w+/.exec(text)?.[0] ?? '')) return text;
  return /^[aeiou]/i.test(text) ? `an ${text}` : `a ${text}`;
}

/** The likeliest reason. */
interface Reason {
  readonly text: string;
  readonly argument?: string | undefined;
}

/** The option names of a signature. */
function namesOf({ params, outs, factory, self }: Signature, { raw, self: receiver }: Call): string[] {
  const given = receiver === undefined ? params : params.filter((_, i) => i !== self);
  const names = given.map(({ name, jsName }) => (raw ? name : jsName));
  if (outs.length > 0) names.push('out');
  if (factory && !raw) names.push('requiresGrad');
  return names;
}

/** A suggestion for an unknown option. */
function optionHint(unknown: string, signatures: readonly Signature[], call: Call): string {
  const { options = {} } = call;
  const known = new Set(signatures.flatMap((signature) => namesOf(signature, call)));
  return didYouMean(
    unknown,
    [...known].filter((name) => !Object.hasOwn(options, name)),
  );
}

/** Objects with these properties are not options. */
const mistaken: Readonly<Record<string, string | undefined>> = Object.assign(Object.create(null), {
  _mark: "a copy of a Tensor's properties; t.clone() copies a Tensor",
  shared: 'a token of t.share(); torch.fromShared(token) gives its tensor',
});

/** The reason if no overload has an option. */
function unknownOption(signatures: readonly Signature[], call: Call): Reason | undefined {
  const known = new Set([...signatures.flatMap((signature) => namesOf(signature, call)), 'self', 'input']);
  const unknown = Object.keys(call.options ?? {}).find((name) => !known.has(name) && call.options![name] !== undefined);
  if (unknown === undefined) return undefined;
  // `{ ...t }`, and a token from another thread, are plain objects in place of options.
  const notOptions = mistaken[unknown];
  if (notOptions !== undefined) return { text: `argument 'options': expected an object of options, got ${notOptions}` };
  return { text: `there is no option '${unknown}'${optionHint(unknown, signatures, call)}` };
}

/** An option's value in a hint. */
const written = (value: unknown) => (typeof value === 'object' && value !== null ? '…' : describe(value));

/** A hint that an extra positional argument may be an option. */
function asOption(params: readonly Param[], extra: readonly unknown[], raw: boolean): string {
  for (const value of extra) {
    const meant = params.find(({ type, keywordOnly, out }) => {
      if (!keywordOnly || out || type.base === Kind.Any || value === null) return false;
      // Any string would do.
      if (type.base === Kind.Device && !(typeof value === 'string' && /^(cpu|cuda|meta)/.test(value))) return false;
      return !(convert(value, type, false) instanceof Mismatch);
    });
    if (meant !== undefined) return `; options go by name: { ${raw ? meant.name : meant.jsName}: ${written(value)} }`;
  }
  return '';
}

/** The positional parameters, without the `self` of a method. */
const slotsOf = ({ params, self }: Signature, call: Call) =>
  params.filter((param, i) => !param.keywordOnly && !param.out && (call.self === undefined || i !== self));

/** Too many positional arguments, where the first fit and the next is an option's value: `add(a, b, 2)`. */
function forgottenName(signatures: readonly Signature[], misfits: readonly Misfit[], call: Call): Reason | undefined {
  for (const [i, misfit] of misfits.entries()) {
    const { fault } = misfit;
    const signature = signatures[i]!;
    if (fault.kind !== 'count') continue;
    const fits = slotsOf(signature, call).every(
      ({ type }, at) => !(convert(call.positional[at], type, false) instanceof Mismatch),
    );
    // Sizes one by one: zeros(2, 3, 'float32').
    const extra = fits ? call.positional.slice(fault.most) : call.positional.slice(-1);
    const hint = fits || Number.isInteger(call.positional[0]) ? asOption(signature.params, extra, call.raw) : '';
    if (hint !== '') return { text: misfit.text() + hint };
  }
  return undefined;
}

/** Sizes one by one, with an invalid one: `view(2, '3')`. */
function wrongSize(signatures: readonly Signature[], { positional, self }: Call): Reason | undefined {
  for (const signature of signatures) {
    const slots = slotsOf(signature, { positional, self, options: undefined, raw: false });
    const [first] = slots;
    if (slots.length !== 1 || first!.type.base !== Kind.Int || !first!.type.list || first!.type.size > 0) continue;
    if (!Number.isInteger(positional[0])) return undefined;
    const mismatch = convert(positional, first!.type);
    if (mismatch instanceof Mismatch)
      return wrongValue([new Misfit({ kind: 'value', argument: first!.jsName, mismatch })]);
  }
  return undefined;
}

function tooMany(signatures: readonly Signature[], misfits: readonly Misfit[], call: Call): Reason | undefined {
  const counts = misfits.flatMap(({ fault }) => (fault.kind === 'count' ? [fault] : []));
  if (counts.length < misfits.length) return undefined;
  const sizes = call.raw ? undefined : wrongSize(signatures, call);
  if (sizes !== undefined) return sizes;
  const { most, given } = counts.reduce((a, b) => (b.most > a.most ? b : a));
  const atMost = counts.every((count) => count.most === most) ? '' : 'at most ';
  return { text: `takes ${atMost}${most} positional argument${most === 1 ? '' : 's'}, got ${given}` };
}

/** "Tensor", "number, bigint, boolean or complex" -> "Tensor, number, bigint, boolean or complex". */
function joined(expected: readonly string[]): string {
  const useful = expected.filter((text) => !text.includes('dimension name'));
  const all = [...new Set(useful.length > 0 ? useful : expected)];
  if (all.length === 1) return all[0]!;
  const parts = new Set(all.flatMap((text) => (/'|array of/.test(text) ? [text] : text.split(/, | or /))));
  const last = [...parts].pop()!;
  return `${[...parts].slice(0, -1).join(', ')} or ${last}`;
}

/** A wrong value, with the expectations of all overloads that got as far. */
function wrongValue(misfits: readonly Misfit[], params: readonly Param[] = []): Reason {
  const faults = misfits.flatMap(({ fault }) => (fault.kind === 'value' ? [fault] : []));
  const { argument, mismatch } = faults[0]!;
  const same = faults.filter((fault) => Object.is(fault.mismatch.value, mismatch.value));
  const mismatches = same.map((fault) => fault.mismatch);
  const all = new Set(same.map((fault) => fault.argument));
  if (all.has('input')) all.delete('self'); // two names of one parameter
  const names = [...all];
  const hint = asReduction(params, mismatch.value) || hintOf(mismatches, argument);
  // All dtypes are listed in the reasons of the signatures.
  const wanted = (one: Mismatch) => (one.base === Kind.Dtype && !one.list ? "a dtype such as 'float32'" : one.expected);
  const expected = joined(mismatches.map(wanted));
  return {
    text: `argument ${names.map((name) => `'${name}'`).join(' or ')}: expected ${withArticle(expected)}, got ${mismatch.got}${hint}`,
    argument,
  };
}

/** For `mseLoss(x, y, 'mean')`: PyTorch has deprecated flags in that position. */
function asReduction(params: readonly Param[], value: unknown): string {
  const isOne = value === 'mean' || value === 'sum' || value === 'none';
  return isOne && params.some(({ name }) => name === 'reduction')
    ? `; options go by name: { reduction: '${value}' }`
    : '';
}

/** Whether an overload has all options of a call; others were probably not intended. */
function hasOptions(signature: Signature, call: Call): boolean {
  const known = namesOf(signature, call);
  return Object.keys(call.options ?? {}).every((name) => known.includes(name) || name === 'input');
}

function likeliest(signatures: readonly Signature[], misfits: readonly Misfit[], call: Call): Reason {
  // Values that are wrong for every overload.
  const never = misfits.filter(({ fault }) => fault.kind === 'value' && fault.mismatch.never);
  if (never.length > 0) return wrongValue(never);
  // An op whose one overload with a self is an out= variant, such as normal.
  if (misfits.length === 0) return { text: 'expected a call of the function, got one of the method' };
  const reason =
    unknownOption(signatures, call) ?? forgottenName(signatures, misfits, call) ?? tooMany(signatures, misfits, call);
  if (reason !== undefined) return reason;
  let likely = misfits.filter((_, i) => hasOptions(signatures[i]!, call));
  if (likely.length === 0) likely = [...misfits];
  const reached = likely.filter(({ fault }) => fault.kind !== 'count' && fault.kind !== 'option');
  if (reached.length > 0) likely = reached;
  const furthest = Math.max(...likely.map(({ fitting }) => fitting));
  likely = likely.filter(({ fitting }) => fitting === furthest);
  // A wrong value is more informative than a missing one of another overload.
  const wrong = likely.filter(({ fault }) => fault.kind === 'value');
  if (wrong.length > 0) return wrongValue(wrong, signatures[misfits.indexOf(wrong[0]!)]!.params);
  const { fault } = likely[0]!;
  return { text: likely[0]!.text(), argument: 'argument' in fault ? fault.argument : undefined };
}

/** The reason if a function exists only as an out= variant of a method, such as `torch.repeat`. */
function methodMeant(name: string, signatures: readonly Signature[], call: Call): Reason | undefined {
  if (call.self !== undefined || call.raw || call.options?.out !== undefined) return undefined;
  if (signatures.some(({ outs }) => outs.length === 0) || !(name in Tensor.prototype)) return undefined;
  return { text: `use the method t.${name}(…); the function needs 'out'`, argument: 'out' };
}

/** ERR_TORCH_OVERLOAD with the likeliest reason first, then every signature and why it does not fit. */
export function overloadError(
  name: string,
  signatures: readonly Signature[],
  misfits: readonly Misfit[],
  call: Call,
): TorchError {
  const got = [...(call.self === undefined ? [] : [call.self]), ...call.positional].map(describe);
  const names = Object.keys(call.options ?? {});
  if (call.options !== undefined) got.push(names.length === 0 ? '{}' : `{ ${names.join(', ')} }`);
  const lines = signatures.map((signature, i) => {
    const misfit = misfits[i]!;
    const { fault } = misfit;
    const hint = fault.kind === 'option' ? optionHint(fault.name, [signature], call) : '';
    return `  ${signature.schema.replace(/^\w+::/, '')}\n    ${misfit.text()}${hint}`;
  });
  const { text, argument } = methodMeant(name, signatures, call) ?? likeliest(signatures, misfits, call);
  const message = `${name}: ${text}\n  no overload fits (${got.join(', ')})\n${lines.join('\n')}`;
  const error = codedError(TypeError, 'ERR_TORCH_OVERLOAD', message);
  return Object.assign(error, { op: name, ...(argument === undefined ? {} : { argument }) });
}
