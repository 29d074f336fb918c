/** Attributes that are enums: libtorch's reader trusts that the pickle has one of their values. */
import * as path from 'node:path';
import { LIB, settled, thrown, torch } from '../support/torch';
import { bytesOf, MODELS_MS, makeModels, model, valuesOf } from './models';

const { ZipReader } = require(path.join(LIB, 'files/zip.js'));
const { ZipWriter } = require(path.join(LIB, 'files/zip-writer.js'));
const { examineSource } = require(path.join(LIB, 'jit/source.js'));

beforeAll(makeModels, MODELS_MS);
beforeEach(() => void settled());

/** The model with other bytes in its pickle, or in its source. */
function changed(entry: RegExp, from: string, to: string): Buffer {
  const bytes = bytesOf('enums');
  const zip = new ZipReader({ size: bytes.length, read: (at: number, n: number) => bytes.subarray(at, at + n) }, Error);
  const parts: Uint8Array[] = [];
  const out = new ZipWriter({ put: (part: Uint8Array) => parts.push(Buffer.from(part)) });
  let count = 0;
  for (const one of zip.entries.values()) {
    const data = Buffer.from(zip.data(one)).toString('latin1');
    const isIt = entry.test(one.name) && data.includes(from);
    if (isIt) count++;
    out.add(one.name, Buffer.from(isIt ? data.replace(from, () => to) : data, 'latin1'));
  }
  out.end();
  expect(count).toBe(1);
  return Buffer.concat(parts);
}

const refusal = (bytes: Uint8Array): string => {
  const error = thrown(() => torch.jit.load(bytes));
  expect(error.code).toBe('ERR_TORCH_MODEL');
  expect(error.message).not.toContain('libtorch cannot');
  return error.message.replace(/^.*byte \d+: |^.*data\.pkl: /, '');
};

/** The value of `self.share` in the pickle, and the instruction that makes the enum. */
const TWO = 'G@\0\0\0\0\0\0\0R';

test('a model loads with attributes that are enums, and computes what PyTorch computes', () => {
  torch.scope(() => {
    const m = model('enums');
    const { inputs, output } = valuesOf('enums');
    expect(torch.equal(m.forward(...inputs), output)).toBe(true);
    expect(torch.jit.load(bytesOf('enums'), { codeWhileLoading: 'refuse' }).methods).toContain('forward');
    expect(thrown(() => m.call('current'))).toMatchObject({
      code: 'ERR_TORCH_MODEL',
      message: 'Enums.current: JavaScript has no value for the result: an enum; return its name or its value',
    });
  });
});

test('a value that the enum does not have, for which libtorch reads past the end of its stack', () => {
  expect(refusal(changed(/data\.pkl$/, TWO, 'G@\x08\0\0\0\0\0\0R'))).toBe('"3" is not a value of the enum "Share"');
  expect(refusal(changed(/data\.pkl$/, TWO, 'K\x02R'))).toBe('"2" is not a value of the enum "Share"'); // not 2.0
  expect(refusal(changed(/data\.pkl$/, 'half', 'hals'))).toBe('"hals" is not a value of the enum "Mode"');
  const literal = 'REDUCE of an enum: expected a number or a string before it';
  for (const value of ['K\x02\x85R', ')R', 'NR', '\x88R', `${TWO.slice(0, -1)}K\x010R`]) {
    expect(refusal(changed(/data\.pkl$/, TWO, value))).toBe(literal);
  }
  expect(refusal(changed(/data\.pkl$/, TWO, ')\x81}b'))).toBe('NEWOBJ target is not a class');
});

test('source whose enums libtorch could read otherwise', () => {
  const unknown = 'the values of the enum "Share" are not in the form that PyTorch writes';
  const sources: [string, string][] = [
    ['TWO = 2.', 'TWO = 2.5; '],
    ['TWO = 2.', 'TWO : float = 2.'],
    ['class Share(Enum):', 'class Share(Enum, Enum):'],
    ['class Mode(Enum):', 'class Share:\n  x : int\nclass Mode(Enum):'],
    ['class Share(Enum):', 'class Share(Enum):\n  A = 1\nclass Share(Enum):'],
  ];
  for (const [from, to] of sources) expect(refusal(changed(/\.py$/, from, to))).toBe(unknown);
});

test('the values of the enums in a source', () => {
  const read = (body: string) => examineSource(`class A:\n  x : int\n\nclass C(Enum):\n${body}`, Error).get('C');
  expect(read('  A = 1\n\n  B = -2\n  C = "a b"\n  D = 0.5\n  E = 1e+30\n')).toEqual([
    ...[1n, -2n, 'a b'],
    ...[{ float: 0.5 }, { float: 1e30 }],
  ]);
  for (const value of ['010', '0x1', "'a'", '"\\n"', '"a" "b"', 'f(1)', '1_0', '[1]', '1.2.3'])
    expect(read(`  A = ${value}\n`)).toBe(null);
});
