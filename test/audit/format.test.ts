/** The layout of captures is the same in the writer (C++), the reader (TypeScript) and the docs. */
import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import * as format from '../../cli/capture/format';
import { ROOT } from './command';

const read = (...names: string[]) => readFileSync(path.join(ROOT, ...names), 'utf8');
const header = read('native', 'audit', 'capture_file.h');
const docs = read('docs', 'capture-format.md');

/** The value of `inline constexpr … name = 16 * 1024;`. */
function constant(name: string): number {
  const found = new RegExp(`^inline constexpr \\w+ ${name} = ([^;]+);`, 'm').exec(header);
  if (found === null) throw new Error(`capture_file.h: expected the constant ${name}`);
  return found[1]!.split('*').reduce((product, factor) => product * Number(factor), 1);
}

/** The members of `enum … name … { a = 1, b = 2 }`. */
function members(name: string): Record<string, number> {
  const found = new RegExp(`^enum (?:class )?${name} : uint8_t \\{([^}]+)\\}`, 'm').exec(header);
  if (found === null) throw new Error(`capture_file.h: expected the enum ${name}`);
  const text = found[1]!.replace(/\/\/.*$/gm, '');
  return Object.fromEntries([...text.matchAll(/(\w+) = (\d+)/g)].map(([, member, value]) => [member, Number(value)]));
}

test('the magic', () => {
  const letters = /kMagic\[8\] = \{([^}]+)\}/.exec(header)![1]!;
  expect([...letters.matchAll(/'(.)'/g)].map(([, letter]) => letter).join('')).toBe(format.MAGIC);
  expect(docs).toContain(`\`${format.MAGIC}\``);
});

test.each([
  ['kFormatVersion', format.FORMAT_VERSION],
  ['kHeaderBytes', format.HEADER_BYTES],
  ['kFlagsAt', format.FLAGS_AT],
  ['kForeignFlagsAt', format.FOREIGN_FLAGS_AT],
  ['kSync', format.SYNC],
  ['kPacketHeaderBytes', format.PACKET_HEADER_BYTES],
  ['kMaxPacketBytes', format.MAX_PACKET_BYTES],
  ['kRowBytes', format.ROW_BYTES],
  ['kBirthBytes', format.BIRTH_BYTES],
  ['kScopeBytes', format.SCOPE_BYTES],
])('%s is %i', (name, value) => expect(constant(name)).toBe(value));

test('flags', () => {
  const flags = Object.entries(members('Flag')).map(([name, value]) => [name.slice(1).toLowerCase(), value]);
  expect(Object.fromEntries(flags)).toEqual(format.Flag);
});

test('the docs describe each type of packet', () => {
  const types = Object.fromEntries(Object.entries(format.PacketType).filter(([, value]) => typeof value === 'number'));
  expect(members('PacketType')).toEqual(types);
  const described = [...docs.matchAll(/^### (\d+) /gm)].map(([, number]) => Number(number));
  expect(described).toEqual(Object.values(types).sort((a, b) => Number(a) - Number(b)));
});

test('the sizes in the docs', () => {
  expect(docs).toContain(`Format version ${format.FORMAT_VERSION}.`);
  expect(docs).toContain(`## Header, ${format.HEADER_BYTES} bytes`);
  expect(docs).toContain(`### 3 Round, ${format.ROUND_BYTES} bytes`);
  expect(docs).toMatch(new RegExp(`^### 6 Rows\n${format.ROW_BYTES} bytes`, 'm'));
  expect(docs).toMatch(new RegExp(`^### 14 Scopes\n${format.SCOPE_BYTES} bytes`, 'm'));
  expect(docs).toMatch(new RegExp(`^### 7 Births\n${format.BIRTH_BYTES} bytes`, 'm'));
});
