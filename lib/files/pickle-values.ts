/** What a pickle consists of while it is read, and what its reader may do with names. */

/** A dictionary while reading; `finish` makes it a plain object, or a Map if a key is not a string. */
export class Dict {
  #entries: Map<unknown, unknown> | undefined;

  /** Created on first use: an empty dictionary takes a single byte of a file. */
  get entries(): Map<unknown, unknown> {
    this.#entries ??= new Map();
    return this.#entries;
  }
  get isEmpty(): boolean {
    return this.#entries === undefined;
  }
}

/** A Python tuple; `finish` makes it an array. */
export class Tuple extends Array<unknown> {}

/** A value as the pickle has it: JavaScript's numbers do not tell 1 from 1.0. */
export type Literal = bigint | string | { readonly float: number };

/** A name that a pickle may use: a function, a class, or a value. */
export class Global {
  readonly name: string;
  readonly call: ((args: readonly unknown[]) => unknown) | undefined;
  /** For a class: makes an object whose state is set later, by BUILD. */
  readonly make: (() => { state: unknown }) | undefined;
  /** For an enum of TorchScript: reads a value, which libtorch writes in the place of the arguments. */
  readonly choose: ((value: Literal) => unknown) | undefined;
  readonly value: unknown;

  constructor(
    name: string,
    { call, make, choose, value }: Partial<Pick<Global, 'call' | 'make' | 'choose' | 'value'>> = {},
  ) {
    this.name = name;
    this.call = call;
    this.make = make;
    this.choose = choose;
    this.value = value;
  }
}

export interface Allowed {
  /** Undefined for a name that is not allowed. */
  find(module: string, name: string): Global | undefined;
  persistent(id: unknown): unknown;
  /** What the program gets for an object that `find` and `persistent` made. Without it, the object itself. */
  finish?(value: object): unknown;
  fail(what: string): Error;
}
