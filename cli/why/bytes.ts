/** Reads a file byte by byte through one buffer, so that a heap snapshot is never in memory as a whole. */
import * as fs from 'node:fs';
import { UsageError } from '../errors/errors';

const CHUNK = 1 << 20;
const [SPACE, TAB, LF, CR, QUOTE, COMMA, MINUS, ZERO, NINE, OPEN, BACKSLASH, CLOSE] = [
  32, 9, 10, 13, 34, 44, 45, 48, 57, 91, 92, 93,
];
const [CURLY_OPEN, CURLY_CLOSE] = [123, 125];
/** For text that is read as a whole: the description of the format has about 2 kB. */
const MAX_TEXT = 1 << 16;

const malformed = (why: string) => new UsageError(`not a heap snapshot: ${why}`);

/** Does not own `fd`. */
export class ByteReader {
  private readonly buffer = Buffer.allocUnsafe(CHUNK);
  private at = 0;
  private end = 0;
  /** Offset of the buffer's end in the file. */
  private offset = 0;
  private pushedBack = -1;

  constructor(private readonly fd: number) {}

  /** Offset of the next byte in the file. */
  get position(): number {
    return this.offset - (this.end - this.at) - (this.pushedBack >= 0 ? 1 : 0);
  }

  /** The next byte; -1 at the end. */
  next(): number {
    if (this.pushedBack >= 0) {
      const byte = this.pushedBack;
      this.pushedBack = -1;
      return byte;
    }
    return this.at < this.end ? this.buffer[this.at++]! : this.refill();
  }

  private refill(): number {
    this.end = fs.readSync(this.fd, this.buffer, 0, CHUNK, this.offset);
    this.at = 0;
    if (this.end <= 0) {
      this.end = 0;
      return -1;
    }
    this.offset += this.end;
    return this.buffer[this.at++]!;
  }

  /** The next byte that is not white space. */
  token(): number {
    let byte = this.next();
    while (byte === SPACE || byte === LF || byte === CR || byte === TAB) byte = this.next();
    return byte;
  }

  expect(character: string): void {
    if (this.token() !== character.charCodeAt(0)) throw malformed(`expected ${character} at byte ${this.position - 1}`);
  }

  back(byte: number): void {
    this.pushedBack = byte;
  }

  /** The next number of a list, below 0 as 0; -1 where the list ends. */
  number(): number {
    let byte = this.token();
    if (byte === COMMA) byte = this.token();
    if (byte === CLOSE) return -1;
    const negative = byte === MINUS;
    if (negative) byte = this.next();
    if (byte < ZERO || byte > NINE) throw malformed(`expected a number at byte ${this.position - 1}`);
    let value = 0;
    while (byte >= ZERO && byte <= NINE) {
      value = value * 10 + (byte - ZERO);
      byte = this.next();
    }
    this.back(byte);
    return negative ? 0 : value;
  }

  /** The key of the next member of an object, or undefined at its end. */
  key(): string | undefined {
    let byte = this.token();
    if (byte === COMMA) byte = this.token();
    if (byte === CURLY_CLOSE) return undefined;
    if (byte !== QUOTE) throw malformed(`expected a name at byte ${this.position - 1}`);
    let name = '';
    for (byte = this.next(); byte !== QUOTE; byte = this.next()) {
      if (byte < 0 || name.length > MAX_TEXT) throw malformed('unterminated name');
      name += String.fromCharCode(byte);
    }
    this.expect(':');
    return name;
  }

  /** The next value, parsed; for small ones. */
  value(): unknown {
    const bytes: number[] = [];
    this.walk((byte) => {
      if (bytes.length >= MAX_TEXT) throw malformed('the description is too long');
      bytes.push(byte);
    });
    try {
      return JSON.parse(Buffer.from(bytes).toString());
    } catch {
      throw malformed('the description is not valid JSON');
    }
  }

  /** Skips the next value. */
  skip(): void {
    this.walk(() => {});
  }

  /** Through the next value, an object, a list or a number. */
  private walk(visit: (byte: number) => void): void {
    let depth = 0;
    let inText = false;
    for (let byte = this.token(); ; byte = this.next()) {
      if (byte < 0) throw malformed('unexpected end of file (was the process killed while writing?)');
      if (!inText && depth === 0 && (byte === COMMA || byte === CURLY_CLOSE || byte === CLOSE)) {
        this.back(byte);
        return;
      }
      visit(byte);
      if (inText) {
        if (byte === BACKSLASH) visit(this.next());
        else if (byte === QUOTE) inText = false;
      } else if (byte === QUOTE) inText = true;
      else if (byte === OPEN || byte === CURLY_OPEN) depth++;
      else if (byte === CLOSE || byte === CURLY_CLOSE) {
        depth--;
        if (depth === 0) return;
      }
    }
  }
}

export { malformed };
