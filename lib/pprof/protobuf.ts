/** The part of Protocol Buffers' wire format that profile.proto needs: varints and nested messages. */

const VARINT = 0;
const LENGTH_DELIMITED = 2;

function varint(value: number | bigint): number[] {
  const bytes: number[] = [];
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) {
    let rest = value;
    while (rest >= 0x80) {
      bytes.push((rest % 0x80) | 0x80);
      rest = Math.floor(rest / 0x80);
    }
    bytes.push(rest);
    return bytes;
  }
  // Negative numbers are written as 64-bit two's complement.
  let rest = BigInt.asUintN(64, BigInt(value));
  while (rest >= 0x80n) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return bytes;
}

/** A message builder. Omits fields with the default value 0, as all writers do. */
export class Message {
  private readonly parts: Uint8Array[] = [];

  int(field: number, value: number | bigint): this {
    return Number(value) === 0 ? this : this.push(field, VARINT, Uint8Array.from(varint(value)));
  }

  /** A packed list, in which zeros are kept. */
  ints(field: number, values: readonly (number | bigint)[]): this {
    return this.bytes(field, Uint8Array.from(values.flatMap(varint)));
  }

  /** Text is never omitted, because the first string of a table is the empty string. */
  text(field: number, text: string): this {
    return this.bytes(field, Buffer.from(text, 'utf8'));
  }

  message(field: number, message: Message): this {
    return this.bytes(field, message.encode());
  }

  encode(): Uint8Array {
    return Buffer.concat(this.parts);
  }

  private bytes(field: number, bytes: Uint8Array): this {
    return this.push(field, LENGTH_DELIMITED, Uint8Array.from(varint(bytes.length)), bytes);
  }

  private push(field: number, type: number, ...parts: Uint8Array[]): this {
    this.parts.push(Uint8Array.from(varint(field * 8 + type)), ...parts);
    return this;
  }
}
