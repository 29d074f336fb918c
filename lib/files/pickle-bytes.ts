/** The instructions of a pickle of protocol 2, by what they write. */
import { argumentError } from '../errors/errors';

/** Names as in Python's pickletools. */
const Op = {
  Proto: 0x80,
  Stop: 0x2e,
  Mark: 0x28,
  None: 0x4e,
  NewTrue: 0x88,
  NewFalse: 0x89,
  BinInt: 0x4a,
  BinFloat: 0x47,
  Long1: 0x8a,
  Long4: 0x8b,
  BinUnicode: 0x58,
  EmptyList: 0x5d,
  EmptyDict: 0x7d,
  Appends: 0x65,
  SetItems: 0x75,
  Tuple: 0x74,
  Reduce: 0x52,
  BinPersId: 0x51,
  LongBinPut: 0x72,
  LongBinGet: 0x6a,
} as const;

/** `String.prototype.isWellFormed`, which the types of ES2022 lack. */
const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text);

/** Lifetime: one pickle. */
export class PickleBytes {
  private readonly parts: Buffer[] = [];
  private remembered = 0;

  constructor() {
    this.parts.push(Buffer.from([Op.Proto, 2]));
  }

  end(): Buffer {
    this.put(Op.Stop);
    return Buffer.concat(this.parts);
  }

  /** Writes a value that is not an object; returns false, without writing, for another one. */
  primitive(value: unknown, path: string): boolean {
    switch (typeof value) {
      case 'boolean':
        this.put(value ? Op.NewTrue : Op.NewFalse);
        return true;
      case 'string':
        // As UTF-8, lone surrogates of different keys would become the same character.
        if (!isWellFormed(value)) throw argumentError('save', path, 'text without lone surrogates', value);
        this.text(value);
        return true;
      case 'bigint':
        this.long(value);
        return true;
      case 'number':
        this.number(value);
        return true;
      default:
        if (value === null) this.put(Op.None);
        return value === null;
    }
  }

  /** A Python name. */
  name(module: string, called: string): void {
    this.parts.push(Buffer.from(`c${module}\n${called}\n`));
  }

  /** An empty list, which appends() fills. */
  list(): void {
    this.put(Op.EmptyList);
  }

  /** An empty dictionary, which setItems() fills. */
  dictionary(): void {
    this.put(Op.EmptyDict);
  }

  /** What is written from here on belongs to the next tuple(), appends() or setItems(). */
  mark(): void {
    this.put(Op.Mark);
  }

  /** A tuple of what was written since the mark. */
  tuple(): void {
    this.put(Op.Tuple);
  }

  /** Adds what was written since the mark to the list before it. */
  appends(): void {
    this.put(Op.Appends);
  }

  /** Adds the keys and values written in turn since the mark to the dictionary before it. */
  setItems(): void {
    this.put(Op.SetItems);
  }

  /** Calls the name with the tuple of arguments, which were written before. */
  reduce(): void {
    this.put(Op.Reduce);
  }

  /** Makes the tuple that was written before the id of a value outside the pickle. */
  persistent(): void {
    this.put(Op.BinPersId);
  }

  /** The value that was written last can be recalled by the index. */
  remember(): number {
    this.fixed(Op.LongBinPut, 4, this.remembered, 'writeUInt32LE');
    return this.remembered++;
  }

  recall(index: number): void {
    this.fixed(Op.LongBinGet, 4, index, 'writeUInt32LE');
  }

  private put(...bytes: number[]): void {
    this.parts.push(Buffer.from(bytes));
  }

  private fixed(code: number, size: number, value: number, write: 'writeUInt32LE' | 'writeInt32LE' | 'writeDoubleBE') {
    const bytes = Buffer.alloc(1 + size);
    bytes[0] = code;
    bytes[write](value, 1);
    this.parts.push(bytes);
  }

  private text(value: string): void {
    const bytes = Buffer.from(value);
    this.fixed(Op.BinUnicode, 4, bytes.length, 'writeUInt32LE');
    this.parts.push(bytes);
  }

  /** Whole numbers beyond 2^53 are floats too: an int of their digits would be read as a bigint. */
  private number(value: number): void {
    if (!Number.isSafeInteger(value) || Object.is(value, -0)) this.fixed(Op.BinFloat, 8, value, 'writeDoubleBE');
    else if (Math.abs(value) < 2 ** 31) this.fixed(Op.BinInt, 4, value, 'writeInt32LE');
    else this.long(BigInt(value));
  }

  /** Two's complement, from the lowest byte. */
  private long(value: bigint): void {
    let length = 0;
    while (BigInt.asIntN(8 * length, value) !== value || length === 0) length++;
    const head = Buffer.alloc(length < 256 ? 2 : 5);
    head[0] = length < 256 ? Op.Long1 : Op.Long4;
    head.writeUIntLE(length, 1, head.length === 2 ? 1 : 4);
    const digits = BigInt.asUintN(8 * length, value)
      .toString(16)
      .padStart(2 * length, '0');
    this.parts.push(head, Buffer.from(digits, 'hex').reverse());
  }
}
