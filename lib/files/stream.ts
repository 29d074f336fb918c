/** Tensor files as streams, with backpressure in both directions. */
import type { ByteSource, ByteStream, Signal } from '../../types/base';
import { native } from '../addon/native';
import { onAbort } from '../async/signals';
import { argumentError, codedError, describe, type TorchError } from '../errors/errors';
import { keep } from '../lifetimes/movable';
import { tensors } from '../lifetimes/walk';
import { type Tensor, wrap } from '../tensor/tensor';
import { namingLoader } from './bytes';

export interface StreamOptions {
  /** Aborting it rejects with the signal's reason and cancels the source. */
  signal?: Signal | undefined;
  /** The most bytes to read (default: no limit), and the most that a zip may unpack to. For untrusted input. */
  maxBytes?: number | undefined;
}

/** A uniform interface to all kinds of sources. */
interface Chunks {
  next(): Promise<{ done?: boolean | undefined; value?: unknown }>;
  /** Cancels the source. */
  stop(reason: unknown): unknown;
}

const isBytes = (value: unknown): value is Uint8Array =>
  ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === '[object Uint8Array]';

const has = (value: object, name: PropertyKey) => typeof (value as Record<PropertyKey, unknown>)[name] === 'function';

function chunksOf(fn: string, source: unknown): Chunks {
  if (isBytes(source)) return fromIterator([source][Symbol.iterator]());
  if (typeof source === 'object' && source !== null) {
    if (has(source, 'getReader')) return fromReader((source as ReadableStream<unknown>).getReader());
    if (has(source, 'stream')) return fromReader((source as Blob).stream().getReader());
    if (has(source, Symbol.asyncIterator)) {
      return fromIterator((source as AsyncIterable<unknown>)[Symbol.asyncIterator]());
    }
  }
  throw argumentError(fn, 'source', 'a ReadableStream, a Readable, a Blob or a Uint8Array', source);
}

const fromReader = (reader: ReadableStreamDefaultReader<unknown>): Chunks => ({
  next: () => reader.read() as Promise<{ done?: boolean; value?: unknown }>,
  stop: (reason) => reader.cancel(reason),
});

const fromIterator = (iterator: Iterator<unknown> | AsyncIterator<unknown>): Chunks => ({
  next: async () => iterator.next(),
  stop: () => iterator.return?.(),
});

/** Sequential reads from a source. Nothing is read ahead, except for the rest of a chunk. */
class StreamReader {
  /** Bytes returned so far. */
  at = 0;
  readonly #fn: string;
  readonly #chunks: Chunks;
  readonly #signal: AbortSignal | undefined;
  readonly #maxBytes: number;
  #chunk: Uint8Array = new Uint8Array(0);
  #abort: (reason: unknown) => void = () => {};

  constructor(fn: string, source: unknown, { signal, maxBytes = Number.POSITIVE_INFINITY }: StreamOptions) {
    if (signal !== undefined && !(signal instanceof AbortSignal)) {
      throw argumentError(fn, 'signal', 'an AbortSignal', signal);
    }
    if (typeof maxBytes !== 'number' || !(maxBytes >= 0)) {
      throw argumentError(fn, 'maxBytes', 'a number of bytes, 0 or more', maxBytes);
    }
    this.#fn = fn;
    this.#signal = signal;
    this.#maxBytes = maxBytes;
    this.#chunks = chunksOf(fn, source);
  }

  readonly onAbort = (): void => this.#abort(this.#signal!.reason);

  get signal(): Signal | undefined {
    return this.#signal;
  }

  fail(what: string, cause?: unknown): TorchError {
    const error = codedError(Error, 'ERR_TORCH_STREAM', `${this.#fn}: ${what}`);
    return cause === undefined ? error : Object.assign(error, { cause });
  }

  /** The next chunk that is not empty; undefined at the end. */
  async #pull(): Promise<Uint8Array | undefined> {
    for (;;) {
      this.#signal?.throwIfAborted();
      // Not Promise.race with a promise of the signal, which would retain every chunk of a long stream.
      const step = await new Promise<{ done?: boolean | undefined; value?: unknown }>((resolve, reject) => {
        this.#abort = reject;
        this.#chunks
          .next()
          .then(resolve, (error: unknown) =>
            reject(this.fail(`the stream failed after ${this.at} bytes: ${messageOf(error)}`, error)),
          );
      });
      if (step.done === true) return undefined;
      if (!isBytes(step.value)) throw argumentError(this.#fn, 'source', 'chunks that are Uint8Arrays', step.value);
      if (step.value.length > 0) return step.value;
    }
  }

  /** The next `length` bytes, in newly allocated memory. `what` describes them in messages. */
  async take(length: number, what: string): Promise<Uint8Array> {
    this.#allow(this.at + length);
    const target = this.#room(length);
    await this.#fill(length, what, (part, at) => target.set(part, at));
    return target;
  }

  /**
   * The same as a uint8 tensor, in memory that libtorch accounts for: the memory limit may refuse it before anything is read.
   * The caller disposes of it.
   */
  async takeTensor(length: number, what: string): Promise<Tensor> {
    this.#allow(this.at + length);
    const target = keep(namingLoader(this.#fn, () => wrap(native.newBytes(length))!)); // no scope may free it during the awaits
    try {
      await this.#fill(length, what, (part, at) => native.fillBytes(target._handle, at, part));
      return target;
    } catch (error) {
      target.dispose();
      throw error;
    }
  }

  async #fill(length: number, what: string, put: (part: Uint8Array, at: number) => void): Promise<void> {
    let filled = 0;
    while (filled < length) {
      if (this.#chunk.length === 0) {
        const chunk = await this.#pull();
        if (chunk === undefined) {
          throw this.fail(
            `the stream ended after ${this.at} bytes, ${length - filled} bytes before the end of ${what}`,
          );
        }
        this.#chunk = chunk;
      }
      const part = this.#chunk.subarray(0, length - filled);
      put(part, filled);
      filled += part.length;
      this.at += part.length;
      this.#chunk = this.#chunk.subarray(part.length);
    }
  }

  /** Everything up to the end. */
  async rest(): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    const from = this.at;
    for (let chunk: Uint8Array | undefined = this.#chunk; chunk !== undefined; chunk = await this.#pull()) {
      this.at += chunk.length;
      this.#allow(this.at);
      parts.push(chunk);
    }
    this.#chunk = new Uint8Array(0);
    const all = this.#room(this.at - from);
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }

  /** Whether the end is reached. */
  async isAtEnd(): Promise<boolean> {
    return this.#chunk.length === 0 && (await this.#pull()) === undefined;
  }

  #allow(bytes: number): void {
    if (bytes <= this.#maxBytes) return;
    throw this.fail(`expected at most ${this.#maxBytes} bytes (maxBytes), got ${bytes} or more`);
  }

  #room(length: number): Uint8Array {
    try {
      return new Uint8Array(length);
    } catch {
      throw codedError(Error, 'ERR_TORCH_OUT_OF_MEMORY', `${this.#fn}: cannot allocate ${length} bytes`);
    }
  }

  /** Cancels the source and ignores its result. */
  stop(reason: unknown): void {
    try {
      Promise.resolve(this.#chunks.stop(reason)).catch(() => {});
    } catch {
      // The caller already throws an error.
    }
  }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : describe(error));

/** Reads a source with `use`. Cancels the source on any error. */
export async function readStream<T>(
  fn: string,
  source: ByteSource,
  options: StreamOptions,
  use: (reader: StreamReader) => Promise<T>,
): Promise<T> {
  if (typeof options !== 'object' || options === null) throw argumentError(fn, 'options', 'an object', options);
  const reader = new StreamReader(fn, source, options);
  const forget = reader.signal === undefined ? undefined : onAbort(reader.signal, reader.onAbort);
  try {
    return await use(reader);
  } catch (error) {
    reader.stop(error);
    throw error;
  } finally {
    forget?.();
  }
}

/**
 * A stream of `chunks`, produced on demand. The stream owns the tensors in `held`: they are released at its end, when it is
 * cancelled, and when it is garbage-collected.
 */
export function byteStream(chunks: Iterator<Uint8Array>, held: readonly Tensor[]): ByteStream {
  for (const tensor of held) keep(tensor);
  const release = () => {
    chunks.return?.();
    for (const tensor of held) tensor.dispose();
  };
  const source = {
    pull(controller: ReadableStreamDefaultController<Uint8Array>): void {
      let step: IteratorResult<Uint8Array>;
      try {
        step = chunks.next();
      } catch (error) {
        release();
        throw error;
      }
      if (step.done === true) {
        release();
        controller.close();
      } else {
        controller.enqueue(step.value);
      }
    },
    cancel: release,
  };
  const stream = new ReadableStream<Uint8Array>(source, { highWaterMark: 0 });
  // Declares that it holds no tensors of a scope, so that it may be returned from one.
  return Object.defineProperty(stream, tensors, { value: [] }) as ByteStream;
}
