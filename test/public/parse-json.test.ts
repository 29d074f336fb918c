/** torch.utils.parseJSON: what JSON.parse gives, with typed arrays under the named members. */
import { thrown, torch } from '../support/torch';

const { parseJSON } = torch.utils;
const bytes = (text: string) => Buffer.from(text);

type NumberArrayConstructor = Float32ArrayConstructor | Float64ArrayConstructor;

/** JSON.parse, and then the arrays of numbers converted: what parseJSON is measured by. */
function reference(text: string, names: readonly string[], NumberArray: NumberArrayConstructor): unknown {
  const value = JSON.parse(text) as unknown;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  for (const [name, member] of Object.entries(value)) {
    const isFlat = Array.isArray(member) && member.every((each) => typeof each === 'number');
    if (names.includes(name) && isFlat) (value as Record<string, unknown>)[name] = new NumberArray(member);
  }
  return value;
}

/** Equal results, or equal errors. */
function expectLikeJSON(text: string): void {
  const of = (parse: () => unknown) => {
    try {
      return parse();
    } catch (error) {
      return String(error);
    }
  };
  for (const NumberArray of [Float64Array, Float32Array]) {
    const found = of(() => parseJSON(bytes(text), { a: NumberArray, b: NumberArray }));
    expect([text, found]).toEqual([text, of(() => reference(text, ['a', 'b'], NumberArray))]);
  }
}

/** Numbers of the same seed in each run. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

test('arrays of numbers become typed arrays, everything else is as JSON.parse gives it', () => {
  const text = bytes(
    '{"id": "é€", "pixels": [0, 0.1, -2e-3], "rest": {"pixels": [1]}, "nested": [[1], [2]], "none": []}',
  );
  const value = parseJSON(text, {
    pixels: Float32Array,
    nested: Float32Array,
    none: Float64Array,
    absent: Float64Array,
  });
  expect(value).toEqual({
    id: 'é€',
    pixels: Float32Array.of(0, 0.1, -2e-3),
    rest: { pixels: [1] },
    nested: [[1], [2]],
    none: new Float64Array(0),
  });
  expect(Object.keys(value as object)).toEqual(['id', 'pixels', 'rest', 'nested', 'none']);
});

test('the arrays of a result keep their numbers', () => {
  const [first, second] = ['[1,2,3]', '[4,5,6]'].map(
    (list) => parseJSON(bytes(`{"a":${list}}`), { a: Float64Array }) as { a: Float64Array },
  );
  expect([[...first!.a], [...second!.a]]).toEqual([
    [1, 2, 3],
    [4, 5, 6],
  ]);
});

test.each([
  '',
  ' ',
  'null',
  '5',
  '[1,2]',
  '{}',
  '{"a":[1,2]',
  '{"a":[1,2]}]',
  '{"a":[1,2],}',
  '{"a":[1,]}',
  '{"a":[01]}',
  '{"a":[1e999]}',
  '{"a":[1e-999]}',
  '{"a":[1,null]}',
  '{"a":[1],"x":tru}',
  '{"x":{"a":[1]]},"a":[2]}',
  '{"a":[1],"a":[2]}',
  '{"a":[1],"a":"x"}',
  '{"\\u0061":[1,2]}',
  '{"x":"\\"","a":[1]}',
  '{"__proto__":[1],"a":[2]}',
  '\ufeff{"a":[1]}',
  '{"x":"\u0000","a":[1]}',
  '{"a":[1]\u00a0}',
])('%j', expectLikeJSON);

test('random texts, whole and damaged, give what JSON.parse gives', () => {
  const next = random(7);
  const pick = <T>(of: readonly T[]): T => of[Math.floor(next() * of.length)]!;
  const space = () => pick(['', '', ' ', '\n\t']);
  const number = () =>
    pick([
      () => String(Math.floor(next() * 10)),
      () => String(next()),
      () => String((next() - 0.5) * 10 ** Math.floor(next() * 600 - 300)),
      () => `${Math.floor(next() * 1e6)}e${pick(['', '+', '-'])}${Math.floor(next() * 30)}`,
      () => (next() / 256).toPrecision(20),
    ])();
  const list = () => {
    const parts = Array.from({ length: Math.floor(next() * 6) }, () => space() + number() + space());
    return `[${parts.join(',')}]`;
  };
  const value = (): string =>
    pick([list, list, list, number, () => '"]}\\""', () => `{"a":${list()}}`, () => `[${list()}]`, () => 'null'])();
  const member = () =>
    `${space()}${JSON.stringify(pick(['a', 'b', 'c', 'a]', 'é']))}${space()}:${space()}${value()}${space()}`;
  for (let i = 0; i < 3000; i++) {
    const members = Array.from({ length: Math.floor(next() * 4) }, member);
    const text = `${space()}{${members.join(',')}}${space()}`;
    expectLikeJSON(text);
    const at = Math.floor(next() * text.length);
    const damage = pick(['', ',', ']', '}', '"', '0', 'x', '-', '.', '\\']);
    expectLikeJSON(text.slice(0, at) + damage + text.slice(at + 1));
  }
});

test('names that decode to the same text are one name', () => {
  const text = Buffer.concat([bytes('{"\ufffd":[7],"'), Buffer.of(0xff), bytes('":"last"}')]);
  expect(parseJSON(text, { '\ufffd': Float64Array })).toEqual({ '\ufffd': 'last' });
  expect(parseJSON(bytes('{"\ufffd":[1,2]}'), { '\ud800': Float64Array })).toEqual({ '\ufffd': [1, 2] });
});

test('wrong arguments name what was expected', () => {
  const of = (text: unknown, arrays: unknown) => thrown(() => parseJSON(text as Uint8Array, arrays as never)).message;
  expect(of('{}', {})).toBe("utils.parseJSON: argument 'body': expected a Uint8Array or Buffer, got '{}'");
  expect(of(bytes('{}'), [])).toMatch(
    /argument 'arrays': expected an object of Float32Array or Float64Array by member/,
  );
  expect(of(bytes('{}'), { a: Int8Array })).toMatch(
    /argument 'arrays\.a': expected Float32Array or Float64Array, got Int8Array/,
  );
  expect(of(bytes('{}'), JSON.parse('{"__proto__":1}'))).toMatch(/expected members other than '__proto__'/);
});

test('memory that the program detaches or shares is read as it is', () => {
  const shared = new Uint8Array(new SharedArrayBuffer(12));
  shared.set(bytes('{"a":[1,23]}'));
  expect(parseJSON(shared, { a: Float64Array })).toEqual({ a: Float64Array.of(1, 23) });
  const text = new Uint8Array(bytes('{"a":[1,23]}'));
  const detaching = {
    get a() {
      structuredClone(text.buffer, { transfer: [text.buffer] });
      return Float64Array;
    },
  };
  expect(thrown(() => parseJSON(text, detaching)).code).toBe('ERR_TORCH_ARGUMENT');
});
