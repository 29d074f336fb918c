/** `leak-audit run --wasm` on a program with a hand-made WebAssembly module. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { renderWasm } from '../../cli/reporters/wasm';
import { plainColors } from '../../cli/terminal/colors';
import { WasmRecording } from '../../cli/wasm/recording';
import { parseRecords, type WasmRecord } from '../../cli/wasm/records';
import { wasmReport } from '../../cli/wasm/report';
import { limitMs } from '../support/sanitized';
import { leakAudit, testFolder } from './command';

const folder = testFolder();
const PROGRAM = path.join(__dirname, 'fixtures/wasm.cjs');
const RUN_MS = 5000;

async function audited(kind: string, ...options: string[]) {
  const json = path.join(folder, `${kind}.json`);
  const outcome = await leakAudit([
    ...['run', '--quiet', '--wasm', '--interval', '100ms', '--json', json, ...options],
    ...['--', process.execPath, PROGRAM, kind, String(RUN_MS)],
  ]);
  return { ...outcome, report: JSON.parse(fs.readFileSync(json, 'utf8')) };
}

test(
  'memories that grow are leaks of the line that made them; steady ones and garbage are not',
  async () => {
    const kinds = ['grows', 'hoards', 'inWorker', 'steady', 'drops', 'fills'];
    const found = Object.fromEntries(
      await Promise.all(kinds.map(async (kind) => [kind, await audited(kind, '--check')] as const)),
    );
    for (const [kind, line] of [
      ['grows', 19],
      ['inWorker', 19],
      ['hoards', 24],
    ] as const) {
      const { code, stdout, report } = found[kind]!;
      expect([kind, code, report.verdict, report.wasm.verdict]).toEqual([kind, 1, 'leak', 'leak']);
      expect(report.wasm.sites[0]).toMatchObject({ file: PROGRAM, line, verdict: 'leak' });
      expect(report.wasm.sites[0].growthBytesPerMinute).toBeGreaterThan(1e6);
      expect(stdout).toMatch(new RegExp(`^LEAK {2}WebAssembly: .*wasm\\.cjs:${line}:`, 'm'));
    }
    const [grown] = found.grows!.report.wasm.memories;
    expect(grown).toMatchObject({ line: 19, initialBytes: 65_536, shared: false, freedMs: null });
    expect(grown.grownBytes).toBe(grown.bytes - 65_536);
    expect(found.inWorker!.report.wasm.memories[0].thread).toBeGreaterThan(0);
    for (const kind of ['steady', 'drops', 'fills']) {
      const { code, report } = found[kind]!;
      expect([kind, code, report.wasm.verdict]).toEqual([kind, 0, 'clean']);
    }
    const sizes = found.steady!.report.wasm.memories.map(({ bytes }: { bytes: number }) => bytes / 65_536);
    expect(sizes).toEqual([41, 30]);
  },
  limitMs(120_000),
);

test('without --wasm nothing is replaced in the program', async () => {
  const { code, stdout } = await leakAudit(['run', '--quiet', '--', process.execPath, PROGRAM, 'none', '1']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^true$/m);
  expect(stdout).not.toContain('WebAssembly');
});

describe('the judgement', () => {
  const stack = [{ file: '/srv/app.js', line: 4, column: 2, function: 'load' }];
  const origin = { pid: 1, thread: 0 };
  const memory = (id: number, ms: number, bytes: number): WasmRecord => {
    return { ...origin, type: 'memory', ms, id, bytes, shared: false, stack };
  };
  const rounds = (sizes: number[]): WasmRecord[] =>
    sizes.map((bytes, i) => ({ ...origin, type: 'round', ms: 100 * (i + 1), sizes: [[1, bytes]] }));

  const inOrder = (records: WasmRecord[]) => records.sort((a, b) => a.ms - b.ms);

  test('growth that is freed at the end is not called clean', () => {
    const growing = Array.from({ length: 60 }, (_, i) => 2 ** 20 + i * 65_536);
    const report = wasmReport([memory(1, 0, 2 ** 20), ...rounds([...growing, -1])]);
    expect(report.verdict).toBe('insufficient');
    expect(report.sites[0]).toMatchObject({ kind: 'grew-to-the-end', liveMemories: 0 });
  });

  test('an allocator that grows the memory by a fifth makes a staircase, which is a leak as long as it goes on', () => {
    /** What is in use at each round, and the size that the allocator gives the memory. */
    const sizes = (used: (round: number) => number) => {
      let size = 16 * 2 ** 20;
      return Array.from({ length: 80 }, (_, round) => {
        while (used(round) > size) size = Math.ceil((size * 1.2) / 65_536) * 65_536;
        return size;
      });
    };
    const verdictOf = (used: (round: number) => number) =>
      wasmReport([memory(1, 0, 16 * 2 ** 20), ...rounds(sizes(used))]).sites[0]!.verdict;
    const MB = 2 ** 20;
    expect(verdictOf((round) => (10 + round) * MB)).toBe('leak');
    expect(verdictOf((round) => (10 + 2 * Math.min(round, 25)) * MB)).not.toBe('leak');
    expect(verdictOf((round) => (10 + (round % 12)) * MB)).not.toBe('leak');
  });

  test('a rising number of memories is a leak only if they survived a collection', () => {
    const made = Array.from({ length: 60 }, (_, i) => memory(i + 1, 100 * i + 50, 65_536));
    const plain = rounds(made.map(() => 65_536));
    expect(wasmReport(inOrder([...made, ...plain])).sites[0]!.verdict).toBe('insufficient');
    const proved = plain.map((one, i) => (i === 58 ? { ...one, collected: true as const } : one));
    expect(wasmReport(inOrder([...made, ...proved])).sites[0]).toMatchObject({ verdict: 'leak', liveMemories: 60 });
  });

  test('a memory that grew again in the second half, but not often, is not called clean', () => {
    const MB = 2 ** 20;
    const sizes = (second: number) => Array.from({ length: 60 }, (_, i) => (i < 10 ? 16 : i < second ? 20 : 23) * MB);
    const verdictOf = (second: number) => wasmReport([memory(1, 0, 16 * MB), ...rounds(sizes(second))]).verdict;
    expect([verdictOf(20), verdictOf(45)]).toEqual(['clean', 'insufficient']);
  });

  test('a memory that grew once, late, is not called clean: a longer run would tell', () => {
    const MB = 2 ** 20;
    const grownAt = (round: number, by: number, rest: WasmRecord[] = []) =>
      wasmReport(
        inOrder([
          ...rest,
          memory(1, 0, 16 * MB),
          ...rounds(Array.from({ length: 60 }, (_, i) => 16 * MB + (i < round ? 0 : by))),
        ]),
      );
    const late = grownAt(49, MB);
    expect(late).toMatchObject({ verdict: 'insufficient', durationMs: 6000, sufficientMs: 10_000 });
    expect(late.sites[0]).toMatchObject({ verdict: 'insufficient', grewLate: true, liveMemories: 1 });
    expect(renderWasm(late, plainColors, '/srv')).toContain(
      'INSUFFICIENT  WebAssembly: memory made at app.js:4:2 grew late in a run of 6.0 s, and may go on growing. 10.0 s would suffice.',
    );
    expect(grownAt(20, MB)).toMatchObject({ verdict: 'clean', sufficientMs: null });
    expect(grownAt(49, 65_536).verdict).toBe('clean'); // a page
    // What is loaded late grows when it is loaded.
    const loaded = Array.from({ length: 60 }, (_, i): WasmRecord => {
      const sizes: [number, number][] = i < 33 ? [] : [[2, i < 35 ? MB : 8 * MB]];
      return { ...origin, type: 'round', ms: 100 * (i + 1), sizes };
    });
    expect(wasmReport(inOrder([memory(1, 0, MB), memory(2, 3300, MB), ...loaded])).verdict).toBe('clean');
    const short = wasmReport([memory(1, 0, MB), ...rounds([MB, 2 * MB])]);
    expect([short.verdict, short.sufficientMs]).toEqual(['insufficient', 1900]);
  });

  test('too few rounds', () => {
    const report = wasmReport([memory(1, 0, 2 ** 20), ...rounds([2 ** 20, 2 ** 21])]);
    expect(report.verdict).toBe('insufficient');
    expect(wasmReport([])).toMatchObject({ verdict: 'clean', sites: [], memories: [] });
  });

  test('the line of the program comes before those of packages', () => {
    const record = memory(1, 0, 65_536) as WasmRecord & { type: 'memory' };
    const inside = { file: '/srv/node_modules/lib/wasm.js', line: 1, column: 99, function: 'glue' };
    const named = wasmReport([{ ...record, stack: [inside, ...stack] }, ...rounds([65_536])]);
    expect(named.sites[0]).toMatchObject({ file: '/srv/app.js', line: 4 });
    const alone = wasmReport([{ ...record, stack: [inside] }, ...rounds([65_536])]);
    expect(alone.sites[0]).toMatchObject({ file: inside.file });
  });

  test('lines that are cut off or of another form are skipped', () => {
    const lines = [
      JSON.stringify(memory(1, 5, 65_536)),
      '{"type":"round","pid":1,"thr',
      '[]',
      'null',
      '{"type":"memory"}',
    ];
    const odd = [
      { ...origin, type: 'round', ms: 1, sizes: [['x', 1]] },
      { ...origin, type: 'memory', ms: 1, id: 1 },
    ];
    expect(parseRecords([...lines, ...odd.map((one) => JSON.stringify(one))].join('\n'))).toEqual([
      memory(1, 5, 65_536),
    ]);
  });
});

test('of a file that is too large for a string, the beginning is read', () => {
  const recording = new WasmRecording(100);
  try {
    const { file } = JSON.parse(recording.variables().LIBTORCH_NODE_WASM!);
    const stack = [{ file: '/srv/app.js', line: 4, column: 1, function: '' }];
    const record = { type: 'memory', pid: 1, thread: 0, ms: 5, id: 1, bytes: 65_536, shared: false, stack };
    fs.writeFileSync(file, `${JSON.stringify(record)}\n`);
    fs.truncateSync(file, 2 ** 29 + 1);
    expect(recording.report().sites).toMatchObject([{ file: '/srv/app.js', liveMemories: 1 }]);
  } finally {
    recording.close();
  }
});
