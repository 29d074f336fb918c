/** torch.utils.parseJSON: bodies of requests that hold many numbers. Not in PyTorch. */
import { types } from 'node:util';
import { native } from '../addon/native';
import { isOptions } from '../addon/options';
import { refuseDetached } from '../elements/create';
import { argumentError, codedError } from '../errors/errors';

const FN = 'utils.parseJSON';

export type NumberArrayConstructor = Float32ArrayConstructor | Float64ArrayConstructor;

/** Numbers before they are copied to the arrays of the result. Larger memory is not kept. */
const kept = { floats: new Float32Array(0), doubles: new Float64Array(0) };
const MAX_KEPT = 2 ** 16;

/** Of float32 only if all arrays are: other numbers are rounded when they are copied. */
function roomFor(count: number, members: Members): Float32Array | Float64Array {
  const isFloat = members.every(([, type]) => type === Float32Array);
  const room = isFloat ? kept.floats : kept.doubles;
  if (count <= room.length) return room;
  const next = isFloat ? new Float32Array(count) : new Float64Array(count);
  if (count > MAX_KEPT) return next;
  if (next instanceof Float32Array) kept.floats = next;
  else kept.doubles = next;
  return next;
}

type Members = readonly [string, NumberArrayConstructor][];

/** Read once: a getter could run the program, or give something else later. */
function membersOf(arrays: unknown): Members {
  if (!isOptions(arrays))
    throw argumentError(FN, 'arrays', 'an object of Float32Array or Float64Array by member', arrays);
  const members: [string, NumberArrayConstructor][] = Object.entries(arrays);
  for (const [name, type] of members) {
    if (name === '__proto__') throw argumentError(FN, 'arrays', "members other than '__proto__'", name);
    if (type !== Float32Array && type !== Float64Array) {
      const { name: given } = Object(type) as { name?: unknown };
      const expected = 'Float32Array or Float64Array';
      if (typeof type !== 'function' || typeof given !== 'string')
        throw argumentError(FN, `arrays.${name}`, expected, type);
      throw codedError(
        TypeError,
        'ERR_TORCH_ARGUMENT',
        `${FN}: argument 'arrays.${name}': expected ${expected}, got ${given}`,
      );
    }
  }
  return members;
}

/**
 * `JSON.parse` of UTF-8 bytes, but flat arrays of numbers under the named members of the object are typed arrays: no JavaScript
 * value is made for each number. A member that is absent or something else, such as a nested array, is as `JSON.parse` gives it.
 *
 * @param body the bytes, as of a request
 * @param arrays the type of the array by the name of its member; numbers are rounded as `Float32Array.from` does it
 * @throws SyntaxError of `JSON.parse`; ERR_TORCH_ARGUMENT
 */
export function parseJSON(body: Uint8Array, arrays: Record<string, NumberArrayConstructor>): unknown {
  if (!types.isUint8Array(body)) throw argumentError(FN, 'body', 'a Uint8Array or Buffer', body);
  const members = membersOf(arrays);
  refuseDetached(FN, 'body', body);
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const numbers = roomFor(Math.ceil(bytes.length / 2), members);
  const names = members.map(([name]) => name);
  const [hasOthers, ...found] = (names.some(hasReplacement) ? null : native.jsonArrays(bytes, names, numbers)) ?? [1];
  const value = hasOthers === 1 || found.length === 0 ? parseRest(bytes, found) : {};
  for (let i = 0; i < found.length; i += FIGURES) {
    const [name, NumberArray] = members[found[i]!]!;
    const first = found[i + 3]!;
    const read = numbers.slice(first, first + found[i + 4]!);
    (value as Record<string, unknown>)[name] = read instanceof NumberArray ? read : new NumberArray(read);
  }
  if (found.length < FIGURES * members.length) convertOthers(value, members);
  return value;
}

/** Native code compares names by their bytes, but to JavaScript every invalid sequence is the same U+FFFD. */
const hasReplacement = (name: string): boolean => /\p{Surrogate}|\ufffd/u.test(name);

/** Of an array: the index of its name, where its body begins and ends, and which numbers are its. */
const FIGURES = 5;

/** What the body holds besides the arrays, with 0 in the place of each. */
function parseRest(bytes: Buffer, found: readonly number[]): unknown {
  if (found.length === 0) return JSON.parse(bytes.toString());
  let rest = '';
  let from = 0;
  for (let i = 0; i < found.length; i += FIGURES) {
    rest += `${bytes.toString('utf8', from, found[i + 1])}0`;
    from = found[i + 2]!;
  }
  try {
    return JSON.parse(rest + bytes.toString('utf8', from));
  } catch {
    return JSON.parse(bytes.toString()); // its error names the place in the whole body
  }
}

/** The arrays that native code left to JSON.parse, as in a body that names a member twice or writes its name with an escape. */
function convertOthers(value: unknown, members: readonly [string, NumberArrayConstructor][]): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
  for (const [name, NumberArray] of members) {
    const member = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
    if (Array.isArray(member) && member.every((each) => typeof each === 'number')) {
      (value as Record<string, unknown>)[name] = new NumberArray(member);
    }
  }
}
