/** Records of streams and of files with a JSON value in each line. */

import { isUtf8 } from 'node:buffer';
import { open } from 'node:fs/promises';
import { upTo } from '../../errors/arity';
import { argumentError } from '../../errors/errors';
import { type FilePath, pathOf } from '../../files/paths';
import { asUser } from '../../lifetimes/user-code';
import { type AnyIterable, IterableDataset, isIterable } from '../dataset';
import { fileError } from './columns';
import { type Cursor, placeOf } from './cursor';

/** What a stream yields; `open` is called at the start of each pass, and the stream destroyed at its end. */
export class StreamDataset<T = any> extends IterableDataset<T> {
  readonly open: () => AnyIterable<T> | PromiseLike<AnyIterable<T>>;

  constructor(open: () => AnyIterable<T> | PromiseLike<AnyIterable<T>>);
  constructor(...passed: [open: () => AnyIterable<T> | PromiseLike<AnyIterable<T>>]) {
    super();
    const [open] = upTo('utils.data.StreamDataset', 1, passed);
    if (typeof open !== 'function') {
      throw argumentError('utils.data.StreamDataset', 'open', 'a function that opens a stream', open);
    }
    this.open = open;
  }

  override [Symbol.asyncIterator](): AsyncIterableIterator<T> {
    const pass = new StreamPass();
    const values = valuesOf<T>(this, pass);
    return {
      next: () => values.next(),
      // A generator that waits for a value ends only after it, which a stream that has stalled never gives.
      return: (value) => {
        pass.end();
        return values.return(value);
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }
}

/** The stream of one pass. */
class StreamPass {
  ended = false;
  stream: { destroy?: () => unknown } | null = null;

  end(): void {
    this.ended = true;
    this.stream?.destroy?.();
  }
}

async function* valuesOf<T>(dataset: StreamDataset<T>, pass: StreamPass): AsyncGenerator<T> {
  const stream = await asUser(() => dataset.open());
  if (!isIterable(stream)) {
    throw argumentError('utils.data.StreamDataset', 'open', 'a function that returns a stream', stream);
  }
  pass.stream = stream as object;
  try {
    // The loop may have ended while the stream was opened.
    if (!pass.ended) yield* stream as AsyncIterable<T>;
  } finally {
    pass.end();
  }
}

const FN = 'utils.data.JsonLines';
const CHUNK = 1 << 16;
const NEWLINE = 10;

/** A line longer than this is refused: a file without newlines would be read whole. */
const MAX_LINE = 1 << 28;

/**
 * The values of files with one JSON value in each line (JSONL, NDJSON); empty lines are left out. Its state is the byte
 * after the last line, so a loader continues without reading what came before.
 *
 * The iterator throws ERR_TORCH_FILE for a line that is not JSON or not UTF-8, with the file and the place.
 */
export class JsonLines<T = any> extends IterableDataset<T> {
  static module = __filename;
  readonly files: readonly string[];

  constructor(files: FilePath | readonly FilePath[]);
  constructor(...passed: [files: FilePath | readonly FilePath[]]) {
    super();
    const [files] = upTo(FN, 1, passed);
    this.files = (Array.isArray(files) ? files : [files]).map((file) => pathOf(FN, 'files', file));
  }

  override async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    const cursor = placeOf(this).begin();
    for (; cursor.file < this.files.length; cursor.file++, cursor.at = 0) {
      const file = this.files[cursor.file]!;
      for await (const { line, end } of linesOf(file, cursor.at)) {
        const at = cursor.at;
        cursor.at = end;
        if (!isUtf8(line)) throw fileError(FN, `${file}, byte ${at}: expected a line of UTF-8, got other bytes`);
        const text = line.toString('utf8').trim();
        if (text !== '') yield parsed(text, file, at) as T;
      }
    }
    placeOf(this).end(cursor);
  }

  stateDict(): Cursor {
    return placeOf(this).state();
  }
  loadStateDict(state: Cursor): void {
    placeOf(this).load(FN, state, this.files.length);
  }
}

function parsed(text: string, file: string, at: number): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const what = `${file}, byte ${at}: expected a line of JSON: ${(error as Error).message}`;
    throw Object.assign(fileError(FN, what), { cause: error });
  }
}

/** The lines of a file from a byte on, and the byte behind each. */
async function* linesOf(path: string, from: number): AsyncGenerator<{ line: Buffer; end: number }> {
  const handle = await open(path);
  try {
    let rest: Buffer[] = [];
    let length = 0;
    let at = from;
    for (let position = from; ; ) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(CHUNK), 0, CHUNK, position);
      if (bytesRead === 0) break;
      position += bytesRead;
      let chunk = buffer.subarray(0, bytesRead);
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE)) {
        const line = Buffer.concat([...rest, chunk.subarray(0, end)]);
        at += line.length + 1;
        yield { line, end: at };
        [rest, length] = [[], 0];
        chunk = chunk.subarray(end + 1);
      }
      rest.push(chunk);
      length += chunk.length;
      if (length > MAX_LINE) throw fileError(FN, `${path}, byte ${at}: expected a line of at most ${MAX_LINE} bytes`);
    }
    // The last line may have no newline.
    if (length > 0) yield { line: Buffer.concat(rest), end: at + length };
  } finally {
    await handle.close();
  }
}
