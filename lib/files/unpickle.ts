/**
 * Reads pickles without executing code: a machine of two dozen instructions that makes lists, dictionaries, numbers and
 * strings, and calls only what `Allowed.find` returns. (Format: Python's pickletools. The allow-list follows PyTorch's
 * weights_only.)
 */

import { TextDecoder } from 'node:util'; // not a global of every realm: Jest's jsdom has none
import type { Budget } from './limits';
import { payLookup } from './lookups';
import { quote, shown } from './names';
import { type Allowed, Dict, Global, type Literal, Tuple } from './pickle-values';

const MARK = Symbol('mark');

/** Far above what tensor files need; without these limits a few bytes could exhaust the memory. */
const MAX_STACK = 16_000_000;
const MAX_TEXT_BYTES = 1 << 28;
const MAX_INTEGER_BYTES = 1 << 16;
/** Gap allowed between memo indices. Python's and libtorch's picklers leave none; libtorch allocates up to the highest. */
const MAX_MEMO_GAP = 1 << 16;
const EMPTY = Symbol('empty');

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export class Unpickler {
  readonly #bytes: Uint8Array;
  readonly #data: DataView;
  readonly #allowed: Allowed;
  readonly #stack: unknown[] = [];
  readonly #budget: Budget;
  readonly #memo: unknown[] = [];
  readonly #made = new WeakSet<object>();
  #at = 0;
  #puts = 0;
  /** Where the last number ended, and its kind. */
  #numberEnd = -1;
  #isFloat = false;

  constructor(bytes: Uint8Array, allowed: Allowed, budget: Budget) {
    this.#bytes = bytes;
    this.#data = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#allowed = allowed;
    this.#budget = budget;
  }

  load(): unknown {
    return finish(this.loadRaw(), this.#allowed, this.#budget);
  }

  /** Keeps Dict and Tuple unconverted. */
  loadRaw(): unknown {
    for (;;) {
      const code = this.u8();
      if (code === 0x2e) return this.#pop(); // STOP
      this.#budget.step();
      const run = operations.get(code);
      if (run === undefined) throw this.fail(`unsupported opcode 0x${code.toString(16)}`);
      run(this);
    }
  }

  fail(what: string): Error {
    return this.#allowed.fail(`pickle at byte ${this.#at}: ${what}`);
  }

  #take(length: number): Uint8Array {
    if (this.#at + length > this.#bytes.length) throw this.fail('unexpected end');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  u8 = (): number => {
    if (this.#at >= this.#bytes.length) throw this.fail('unexpected end');
    return this.#bytes[this.#at++]!;
  };
  u16 = (): number => this.#data.getUint16(this.#skip(2), true);
  u32 = (): number => this.#data.getUint32(this.#skip(4), true);
  i32 = (): number => this.#data.getInt32(this.#skip(4), true);
  f64 = (): number => this.#data.getFloat64(this.#skip(8), false);
  #skip(length: number): number {
    this.#take(length);
    return this.#at - length;
  }

  text(length: number): string {
    if (length > MAX_TEXT_BYTES) throw this.fail(`expected a string of at most ${MAX_TEXT_BYTES} bytes, got ${length}`);
    const bytes = this.#take(length);
    try {
      return utf8.decode(bytes);
    } catch {
      throw this.fail('a string is not valid UTF-8');
    }
  }
  /** A copy, so that it does not retain the pickle. */
  bytes(length: number): Uint8Array {
    return new Uint8Array(this.#take(length));
  }

  line(): string {
    const end = this.#bytes.indexOf(0x0a, this.#at);
    if (end < 0) throw this.fail('unterminated line');
    const line = this.text(end - this.#at);
    this.#at++;
    return line;
  }

  /** Little-endian, two's complement. */
  long(length: number): number | bigint {
    if (length > MAX_INTEGER_BYTES)
      throw this.fail(`expected an integer of at most ${MAX_INTEGER_BYTES} bytes, got ${length}`);
    const bytes = Buffer.from(this.#take(length)).reverse(); // a copy
    if (length === 0) return 0;
    const value = BigInt.asIntN(8 * length, BigInt(`0x${bytes.toString('hex')}`));
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : value;
  }

  push(value: unknown): void {
    if (this.#stack.length >= MAX_STACK) throw this.fail(`more than ${MAX_STACK} values on the stack`);
    this.#stack.push(value);
  }

  /** Pushes an object, which takes much more memory than its byte in the file. */
  pushNew(container: object): void {
    this.#budget.object();
    this.push(container);
  }

  #pop(): unknown {
    if (this.#stack.length === 0) throw this.fail('the stack is empty');
    const value = this.#stack.pop();
    if (value === MARK) throw this.fail('expected a value, got a mark');
    return value;
  }
  pop = (): unknown => this.#pop();

  mark(): void {
    this.push(MARK);
  }

  toMark(): unknown[] {
    const at = this.#stack.lastIndexOf(MARK);
    if (at < 0) throw this.fail('no mark on the stack');
    const values = this.#stack.splice(at);
    values.shift();
    return values;
  }

  top(): unknown {
    const value = this.#pop();
    this.push(value);
    return value;
  }

  put(index: number): void {
    if (index > ++this.#puts + MAX_MEMO_GAP) throw this.fail(`memo index ${index} is far beyond the earlier ones`);
    while (this.#memo.length < index) this.#memo.push(EMPTY);
    this.#memo[index] = this.top();
  }
  memoize(): void {
    this.put(this.#memo.length);
  }
  get(index: number): void {
    const value = index < this.#memo.length ? this.#memo[index] : EMPTY;
    if (value === EMPTY) throw this.fail(`memo index ${index} is not set`);
    this.push(value);
  }

  tuple(values: unknown[]): void {
    this.pushNew(Tuple.from(values));
  }

  append(values: unknown[]): void {
    const list = this.top();
    if (!Array.isArray(list) || list instanceof Tuple) throw this.fail('APPEND target is not a list');
    for (const value of values) list.push(value);
  }

  set(values: unknown[]): void {
    const dict = this.top();
    if (!(dict instanceof Dict)) throw this.fail('SETITEM target is not a dictionary');
    if (values.length % 2 !== 0) throw this.fail('SETITEMS: a key has no value');
    for (let i = 0; i < values.length; i += 2) {
      payLookup(dict.entries, values[i], this.#budget);
      dict.entries.set(values[i], values[i + 1]);
    }
  }

  global(module: unknown, name: unknown): void {
    if (typeof module !== 'string' || typeof name !== 'string') throw this.fail('a global name is not a string');
    // A long name may be used again and again by a few bytes, and is read each time.
    this.#budget.step((module.length + name.length) >> 3);
    const found = this.#allowed.find(module, name);
    if (found === undefined) {
      throw this.fail(`${shown(`${module}.${name}`)} is not among the names that may be loaded`);
    }
    this.pushNew(found);
  }

  reduce(): void {
    const args = this.#pop();
    const global = this.#pop();
    if (global instanceof Global && global.choose !== undefined) {
      this.pushNew(global.choose(this.#literal(args)) as object);
      return;
    }
    if (!(args instanceof Tuple) || !(global instanceof Global) || global.call === undefined) {
      throw this.fail('REDUCE target is not a function');
    }
    // A call is one byte of the pickle, but may copy or inspect all arguments and every element of them.
    this.#budget.step(args.length);
    for (const arg of args) if (Array.isArray(arg)) this.#budget.step(arg.length);
    this.pushNew(global.call(args) as object);
  }

  /** The argument of the REDUCE that was just read. */
  #literal(value: unknown): Literal {
    if (typeof value === 'string') return value;
    const isJustRead = this.#numberEnd === this.#at - 1;
    if (isJustRead && this.#isFloat) return { float: value as number };
    if (isJustRead && (typeof value === 'bigint' || Number.isSafeInteger(value))) return BigInt(value as number);
    throw this.fail('REDUCE of an enum: expected a number or a string before it');
  }

  number(value: number | bigint, isFloat = false): void {
    this.#numberEnd = this.#at;
    this.#isFloat = isFloat;
    this.push(value);
  }

  /** Makes an object of a class (NEWOBJ). */
  make(): void {
    this.#pop(); // constructor arguments
    const global = this.#pop();
    if (!(global instanceof Global) || global.make === undefined) {
      throw this.fail('NEWOBJ target is not a class');
    }
    const object = global.make();
    this.#made.add(object);
    this.pushNew(object);
  }

  /** Only objects of classes have a state. Attributes of an OrderedDict (a state dict's _metadata) are ignored. */
  build(): void {
    const state = this.#pop();
    const object = this.top();
    if (this.#made.has(object as object)) (object as { state: unknown }).state = state;
    else if (!(object instanceof Dict)) throw this.fail('BUILD target has no state');
  }

  persistent(): void {
    this.push(this.#allowed.persistent(this.#pop()));
  }

  addAll(values: unknown[]): void {
    const set = this.top();
    if (!(set instanceof Set)) throw this.fail('ADDITEMS target is not a set');
    for (const value of values) {
      payLookup(set, value, this.#budget);
      set.add(value);
    }
  }
}

const operations = new Map<number, (p: Unpickler) => void>([
  [
    0x80,
    (p) => {
      if (p.u8() > 5) throw p.fail('unsupported pickle protocol');
    },
  ], // PROTO
  [0x95, (p) => void p.long(8)], // FRAME
  [0x28, (p) => p.mark()],
  [0x30, (p) => void p.pop()],
  [0x31, (p) => void p.toMark()],
  [0x32, (p) => p.push(p.top())],
  [0x4e, (p) => p.push(null)],
  [0x88, (p) => p.push(true)],
  [0x89, (p) => p.push(false)],
  [0x4a, (p) => p.number(p.i32())],
  [0x4b, (p) => p.number(p.u8())],
  [0x4d, (p) => p.number(p.u16())],
  [0x8a, (p) => p.number(p.long(p.u8()))],
  [0x8b, (p) => p.number(p.long(p.u32()))],
  [0x47, (p) => p.number(p.f64(), true)],
  [0x58, (p) => p.push(p.text(p.u32()))],
  [0x8c, (p) => p.push(p.text(p.u8()))],
  [0x42, (p) => p.pushNew(p.bytes(p.u32()))],
  [0x43, (p) => p.pushNew(p.bytes(p.u8()))],
  [0x54, (p) => p.push(p.text(p.u32()))],
  [0x55, (p) => p.push(p.text(p.u8()))],
  [0x5d, (p) => p.pushNew([])],
  [0x7d, (p) => p.pushNew(new Dict())],
  [0x8f, (p) => p.pushNew(new Set())],
  [0x29, (p) => p.tuple([])],
  [0x85, (p) => p.tuple([p.pop()])],
  [0x86, (p) => p.tuple([p.pop(), p.pop()].reverse())],
  [0x87, (p) => p.tuple([p.pop(), p.pop(), p.pop()].reverse())],
  [0x74, (p) => p.tuple(p.toMark())],
  [0x61, (p) => p.append([p.pop()])],
  [0x65, (p) => p.append(p.toMark())],
  [0x73, (p) => p.set([p.pop(), p.pop()].reverse())],
  [0x75, (p) => p.set(p.toMark())],
  [0x90, (p) => p.addAll(p.toMark())],
  [0x71, (p) => p.put(p.u8())],
  [0x72, (p) => p.put(p.u32())],
  [0x94, (p) => p.memoize()],
  [0x68, (p) => p.get(p.u8())],
  [0x6a, (p) => p.get(p.u32())],
  [0x63, (p) => p.global(p.line(), p.line())],
  [
    0x93,
    (p) => {
      const name = p.pop();
      p.global(p.pop(), name);
    },
  ],
  [0x52, (p) => p.reduce()],
  [0x81, (p) => p.make()],
  [0x62, (p) => p.build()],
  [0x51, (p) => p.persistent()],
]);

/**
 * Converts dictionaries to objects or Maps, and tuples to arrays. Shared values stay shared, and cycles stay cycles. Lookups
 * here need no budget: the same keys were charged when they were read.
 */
function finish(root: unknown, allowed: Allowed, budget: Budget): unknown {
  const done = new Map<unknown, unknown>();
  let depth = 0;
  const convert = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    if (done.has(value)) return done.get(value);
    if (++depth > budget.maxDepth) throw budget.tooDeep();
    const converted = convertNew(value);
    depth--;
    return converted;
  };
  const convertNew = (value: object): unknown => {
    if (value instanceof Dict) return convertDict(value);
    if (value instanceof Global) {
      if (value.value === undefined) throw allowed.fail(`the name ${quote(value.name)} cannot be a value`);
      return value.value;
    }
    if (Array.isArray(value)) {
      const list: unknown[] = [];
      done.set(value, list);
      for (const element of value) list.push(convert(element));
      return list;
    }
    if (value instanceof Set) {
      const set = new Set<unknown>();
      done.set(value, set);
      for (const element of value) set.add(convert(element));
      return set;
    }
    const made = allowed.finish === undefined ? value : allowed.finish(value);
    if (made !== value) done.set(value, made); // so that it is made once
    return made;
  };
  const convertDict = (dict: Dict): unknown => {
    if (dict.isEmpty || [...dict.entries.keys()].every((key) => typeof key === 'string')) {
      const object = {};
      done.set(dict, object);
      if (dict.isEmpty) return object;
      for (const [key, element] of dict.entries) {
        // Not an assignment: a key may be __proto__.
        const descriptor = { value: convert(element), writable: true, enumerable: true, configurable: true };
        Object.defineProperty(object, key as string, descriptor);
      }
      return object;
    }
    const map = new Map<unknown, unknown>();
    done.set(dict, map);
    for (const [key, element] of dict.entries) map.set(convert(key), convert(element));
    return map;
  };
  return convert(root);
}
