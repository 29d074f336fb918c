/** The key-value stores through which ranks find each other: PyTorch's TCPStore, FileStore and PrefixStore. */

import type { NodeBuffer } from '../../types/base';
import { native } from '../addon/native';
import { upTo } from '../errors/arity';
import { argumentError } from '../errors/errors';
import { flagOf, integerOf, optionsOf, textOf, timeoutOf } from './arguments';
import { type Opaque, openLibrary, runJob } from './library';

/** c10d's default for stores: 5 minutes. */
const STORE_TIMEOUT_MS = 5 * 60 * 1000;

/** A value of a store: text is stored as UTF-8. */
export type StoreValue = string | Uint8Array;

const bytesOf = (fn: string, name: string, value: unknown): Uint8Array => {
  if (typeof value === 'string') return Buffer.from(value);
  if (value instanceof Uint8Array) return Buffer.from(value); // the program may change it before the store is open
  throw argumentError(fn, name, 'a string or a Uint8Array', value);
};

function keysOf(fn: string, keys: unknown): string[] {
  if (!Array.isArray(keys) || keys.length === 0) throw argumentError(fn, 'keys', 'an array of strings', keys);
  return keys.map((key, i) => textOf(fn, `keys[${i}]`, key));
}

/** c10d reads the value with std::stoll: a FileStore fails with that word, and the server of a TCPStore hangs up. */
function whyNotAdded(key: string, failure: string): string {
  const expected = `expected a counter, or no value, at the key '${key}'`;
  if (failure.includes('stoll')) return `${expected}, got a value that is not an integer`;
  return `${failure}; c10d's server also ends the connection of a rank if it finds something else: ${expected}`;
}

/**
 * A key-value store that all ranks can reach. Every method gives a promise and runs off the event loop. It rejects with
 * ERR_TORCH_DISTRIBUTED, and past the time limit with ERR_TORCH_TIMEOUT.
 */
export abstract class Store {
  /** @internal */
  readonly _name: string;
  #timeoutMs: number;

  /** @internal */
  protected constructor(name: string, timeoutMs: number) {
    this._name = `distributed.${name}`;
    this.#timeoutMs = timeoutMs;
  }

  /** @internal The native store, once it is connected. */
  abstract _opened(): Promise<Opaque>;

  /** The time limit in ms of each call. */
  get timeoutMs(): number {
    return this.#timeoutMs;
  }

  /** Sets the time limit of later calls. */
  setTimeout(timeoutMs: number): void {
    this.#timeoutMs = integerOf(`${this._name}.setTimeout`, 'timeoutMs', timeoutMs, 1, 2 ** 31 - 1);
  }

  async #run<T>(
    method: string,
    start: (store: Opaque) => number,
    limitMs?: number,
    reword: (failure: string) => string = (failure) => failure,
  ): Promise<T> {
    const store = await this._opened();
    // A server that answers late is given up a second after the limit, which the call itself keeps if it can.
    const limit = (limitMs ?? this.#timeoutMs) + 1000;
    const explain = (failure: string, timedOut: boolean) => ({
      text: timedOut ? failure : reword(failure),
      code: timedOut ? ('ERR_TORCH_TIMEOUT' as const) : ('ERR_TORCH_DISTRIBUTED' as const),
    });
    return runJob<T>(`${this._name}.${method}`, () => start(store), { limitMs: limit, explain });
  }

  /** Stores a value under a key. */
  async set(key: string, value: StoreValue): Promise<void> {
    const fn = `${this._name}.set`;
    const [name, bytes] = [textOf(fn, 'key', key), bytesOf(fn, 'value', value)];
    await this.#run('set', (store) => native.storeSet(store, name, bytes));
  }

  /** The value of a key. Waits until there is one. */
  async get(key: string): Promise<NodeBuffer> {
    const name = textOf(`${this._name}.get`, 'key', key);
    const limit = this.#timeoutMs;
    return this.#run<NodeBuffer>('get', (store) => native.storeGet(store, name, limit), limit);
  }

  /** Adds to a counter, which is 0 at first; returns the sum. */
  async add(key: string, amount: number): Promise<number> {
    const fn = `${this._name}.add`;
    const [name, number] = [textOf(fn, 'key', key), integerOf(fn, 'amount', amount, -Number.MAX_SAFE_INTEGER)];
    const start = (store: Opaque) => native.storeAdd(store, name, number);
    return this.#run<number>('add', start, undefined, (failure) => whyNotAdded(name, failure));
  }

  /** Whether all keys have values. */
  async check(keys: readonly string[]): Promise<boolean> {
    const names = keysOf(`${this._name}.check`, keys);
    return this.#run<boolean>('check', (store) => native.storeCheck(store, names));
  }

  /** Waits until all keys have values. The error past the limit names those that have none. */
  async wait(keys: readonly string[], timeoutMs?: number): Promise<void> {
    const fn = `${this._name}.wait`;
    const names = keysOf(fn, keys);
    const limit = timeoutOf(fn, timeoutMs, this.#timeoutMs);
    await this.#run('wait', (store) => native.storeWait(store, names, limit), limit);
  }

  /**
   * Stores `desired` if the key's value is `expected`, or if it has none and `expected` is ''. Returns the value that the key
   * has then.
   */
  async compareSet(key: string, expected: StoreValue, desired: StoreValue): Promise<NodeBuffer> {
    const fn = `${this._name}.compareSet`;
    const name = textOf(fn, 'key', key);
    const [before, after] = [bytesOf(fn, 'expected', expected), bytesOf(fn, 'desired', desired)];
    return this.#run<NodeBuffer>('compareSet', (store) => native.storeCompareSet(store, name, before, after));
  }

  /** Removes a key; returns whether it was there. A FileStore cannot. */
  async deleteKey(key: string): Promise<boolean> {
    const name = textOf(`${this._name}.deleteKey`, 'key', key);
    return this.#run<boolean>('deleteKey', (store) => native.storeDeleteKey(store, name));
  }

  /** The number of keys. c10d counts one of its own in a TCPStore that knows its number of workers. */
  async numKeys(): Promise<number> {
    return this.#run<number>('numKeys', (store) => native.storeNumKeys(store));
  }
}

export function storeOf(fn: string, name: string, value: unknown): Store {
  if (!(value instanceof Store)) throw argumentError(fn, name, 'a TCPStore, FileStore or PrefixStore', value);
  return value;
}

export interface TCPStoreOptions {
  /** How many processes open the store. Default: any number. */
  worldSize?: number | undefined;
  /** Whether this process runs the server. */
  isMaster?: boolean | undefined;
  /** Time limit of connecting and of each call in ms. Default: 300,000. */
  timeoutMs?: number | undefined;
  /** Whether the server waits until `worldSize` processes have connected. Default: true. */
  waitForWorkers?: boolean | undefined;
}

/** A store whose server runs in one of the processes. Wire-compatible with the TCPStore of Python on the same libtorch. */
export class TCPStore extends Store {
  readonly host: string;
  #port: number;
  readonly #connected: Promise<Opaque>;

  /** Connects in the background; `ready()` and the first call reject if that fails. Port 0 with `isMaster`: a free one. */
  constructor(host: string, port: number, options?: TCPStoreOptions);
  constructor(...passed: [host: string, port: number, options?: TCPStoreOptions]) {
    const fn = 'distributed.TCPStore';
    const [host, port, options = {}] = upTo(fn, 3, passed);
    const given = optionsOf(fn, options, ['worldSize', 'isMaster', 'timeoutMs', 'waitForWorkers']);
    const timeoutMs = timeoutOf(fn, given.timeoutMs, STORE_TIMEOUT_MS);
    super('TCPStore', timeoutMs);
    this.host = textOf(fn, 'host', host);
    const isMaster = flagOf(fn, 'isMaster', given.isMaster, false);
    this.#port = integerOf(fn, 'port', port, isMaster ? 0 : 1, 65535);
    const size = given.worldSize === undefined ? 0 : integerOf(fn, 'worldSize', given.worldSize, 1);
    const waits = flagOf(fn, 'waitForWorkers', given.waitForWorkers, true);
    openLibrary(fn);
    const limit = 1000 * Math.ceil(timeoutMs / 1000 + 1);
    const start = () => native.distributedTcpStore(this.host, this.#port, isMaster, size, waits, limit);
    const explain = (failure: string, timedOut: boolean) => ({
      text: `no connection to ${this.host}:${this.#port}${isMaster ? ' as its server' : ''} within ${timeoutMs} ms${timedOut ? '' : `: ${failure}`}`,
      code: timedOut ? ('ERR_TORCH_TIMEOUT' as const) : ('ERR_TORCH_DISTRIBUTED' as const),
    });
    // libtorch keeps the limit for each step of connecting, and tries to connect for so many whole seconds less one.
    this.#connected = runJob<Opaque>(fn, start, { explain, limitMs: timeoutMs + 1000 }).then((store) => {
      this.#port = native.storePort(store);
      return store;
    });
    this.#connected.catch(() => {}); // each call reports it
  }

  /** The server's port; a port chosen by the system is known after `ready()`. */
  get port(): number {
    return this.#port;
  }

  /** Resolves once the store is connected. */
  async ready(): Promise<this> {
    await this.#connected;
    return this;
  }

  /** @internal */
  _opened(): Promise<Opaque> {
    return this.#connected;
  }
}

/** A store in a file that all processes can reach and lock. The last of `worldSize` processes removes it. */
export class FileStore extends Store {
  readonly path: string;
  readonly #opening: Promise<Opaque>;

  constructor(path: string, worldSize: number);
  constructor(...passed: [path: string, worldSize: number]) {
    super('FileStore', STORE_TIMEOUT_MS);
    const fn = 'distributed.FileStore';
    const [path, worldSize] = upTo(fn, 2, passed);
    this.path = textOf(fn, 'path', path);
    const size = integerOf(fn, 'worldSize', worldSize, 1);
    openLibrary(fn);
    this.#opening = runJob<Opaque>(fn, () => native.distributedFileStore(this.path, size));
    this.#opening.catch(() => {}); // each call reports it
  }

  /** @internal */
  _opened(): Promise<Opaque> {
    return this.#opening;
  }
}

/** A part of another store: its keys begin with the prefix. */
export class PrefixStore extends Store {
  readonly prefix: string;
  readonly store: Store;
  readonly #opening: Promise<Opaque>;

  constructor(prefix: string, store: Store);
  constructor(...passed: [prefix: string, store: Store]) {
    const fn = 'distributed.PrefixStore';
    const [prefix, store] = upTo(fn, 2, passed);
    const inner = storeOf(fn, 'store', store);
    super('PrefixStore', inner.timeoutMs);
    this.prefix = textOf(fn, 'prefix', prefix);
    this.store = inner;
    this.#opening = inner._opened().then((opened) => native.distributedPrefixStore(this.prefix, opened));
    this.#opening.catch(() => {}); // each call reports it
  }

  /** @internal */
  _opened(): Promise<Opaque> {
    return this.#opening;
  }
}
