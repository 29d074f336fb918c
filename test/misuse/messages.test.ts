/**
 * Mistakes of new users, and the first line of each message: the tables in messages/ are reviewed like code. A real process
 * makes the mistakes, one after the other. After a change of messages: `node test/misuse/messages/run.cjs --write`.
 */
import * as path from 'node:path';
import { run } from '../support/child';
import { limitMs } from '../support/sanitized';
import { LIB } from '../support/torch';

interface Told {
  code: string;
  message: string;
}
interface Row {
  table: string;
  release: string;
  mistake: string;
  expected: Record<string, Told>;
  got: Told;
}

let rows: Row[] = [];

beforeAll(async () => {
  const { code, signal, stdout, stderr } = await run(process.execPath, [path.join(__dirname, 'messages/run.cjs')], {
    env: { ...process.env, LIBRARY: path.join(LIB, 'index.js'), NODE_NO_WARNINGS: '1' },
  });
  expect({ code, signal, stderr }).toMatchObject({ code: 0, signal: null });
  rows = stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Row);
}, limitMs(120_000));

const shown = ({ table, mistake, got }: Row) => `${table}: ${mistake}\n  ${got.code}  ${got.message}`;

test('every mistake gets the message in the tables', () => {
  const expectedOf = ({ expected, release }: Row) => expected[release] ?? expected[''];
  const known = rows.filter((row) => expectedOf(row) !== undefined);
  expect(known.map(({ mistake, got }) => ({ mistake, ...got }))).toEqual(
    known.map((row) => ({ mistake: row.mistake, ...expectedOf(row) })),
  );
});

test('there are many messages, without duplicates or empty ones', () => {
  expect(new Set(rows.map(({ mistake }) => mistake)).size).toBe(rows.length);
  expect(rows.length).toBeGreaterThanOrEqual(160);
  expect(rows.filter(({ expected }) => Object.keys(expected).length === 0).map(shown)).toEqual([]);
});

test('all mistakes fail, and each error has a code', () => {
  expect(rows.filter(({ got }) => !/^(ERR_|E[A-Z]+$)/.test(got.code)).map(shown)).toEqual([]);
});

test("the library's errors name the function, the expectation and the value", () => {
  const ours = rows.filter(({ got }) => /^ERR_TORCH_(ARGUMENT|OVERLOAD)$/.test(got.code));
  const says =
    /^[\w.:[\]]+: (argument '[\w.[\]]+'( or '\w+')*( is missing|: expected .+, got .+)|takes .+, got \d+.*|there is no option '.+|.+ to make .+|use .+)$/;
  expect(ours.filter(({ got }) => !says.test(got.message)).map(shown)).toEqual([]);
});

test('on every libtorch: without Python, names of its source, and control characters', () => {
  const python =
    /\b(True|False|None)\b(?!\])|\b(retain_graph|requires_grad|no_grad|set_detect_anomaly|keep_dim|grad_fn)\b|Exception raised from|\.(cpp|h|py):\d|INTERNAL ASSERT|please report|Variable|\p{Cc}/u;
  const unknown = ({ got, mistake }: Row) => !mistake.includes(python.exec(got.message)?.[0] ?? '');
  expect(rows.filter((row) => python.test(row.got.message) && unknown(row)).map(shown)).toEqual([]);
});
