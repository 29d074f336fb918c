/** What a capture says of autograd graphs and of survivors, and what the report makes of it. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { analyse } from '../../cli/analysis/analyse';
import { Redaction, redactReport } from '../../cli/analysis/redact';
import { condense } from '../../cli/capture/condense';
import { PacketType } from '../../cli/capture/format';
import { CaptureParser } from '../../cli/capture/reader';
import { variableAt, variableIn } from '../../cli/code/variable';
import { renderText } from '../../cli/reporters/text';
import { plainColors as colors } from '../../cli/terminal/colors';
import { CaptureBuilder, type GraphInput } from './capture-builder';
import { random } from './simulation';

const MS = 250;
const SUM = 1;
const SHOWN = 2;
const BATCH = 3;

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'graphs-'));
const source = path.join(folder, 'running-loss.js');
fs.writeFileSync(source, '\n\n\n\n\n\n\n  total = total.add(loss);\n  shown = total.div(n);\n  const x = randn();\n');
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

const parse = (builder: CaptureBuilder) => {
  const parser = new CaptureParser();
  parser.feed(builder.build());
  return parser.finish();
};

interface Running {
  rounds?: number;
  /** Bytes that a round adds to what graphs hold. */
  bytes?: number;
  /** What else the census of round i found. */
  more?: (i: number) => GraphInput[];
  nodes?: (i: number) => number;
  flags?: (i: number) => number;
}

/** A sum whose graph grows by 6 nodes a round, in which the line makes 2 tensors; garbage around it. */
function running({ rounds = 48, bytes = 8192, more, nodes = (i) => 6 * i, flags = () => 2 }: Running): CaptureBuilder {
  const builder = new CaptureBuilder()
    .site(SUM, [source, 8, 17, 'train'])
    .site(SHOWN, [source, 9, 17, 'train'])
    .site(BATCH, [source, 10, 13, 'train']);
  for (let i = 1; i <= rounds; i++) {
    builder.graphs(
      { site: SUM, tensors: 1, nodes: nodes(i), flags: flags(i) },
      { site: BATCH, tensors: 0, nodes: 0, hiddenStorages: 2 * i, hiddenBytes: bytes * i },
      ...(more?.(i) ?? []),
    );
    const garbage = 5 + (i % 7);
    builder.tick({ ms: i * MS, allocatedBytes: bytes * i + 4096, collections: i >> 2 }, [
      { site: SUM, liveTensors: garbage, liveBytes: 4 * garbage, allocatedTensors: 2 * i, oldestBirthMs: i * MS },
      { site: SHOWN, liveTensors: 1, liveBytes: 4, allocatedTensors: 2 * i, oldestBirthMs: i * MS },
      { site: BATCH, liveTensors: 1, liveBytes: 4096, allocatedTensors: 2 * i, allocatedBytes: 8192 * i },
    ]);
  }
  return builder.end();
}

const reportOf = (given: Running) => analyse(parse(running(given)));
const sentenceOf = (given: Running) => renderText(reportOf(given), { colors, folder }).trim().split('\n')[0]!;

test('a value that carries its graph is the root: line, name, and what the graph holds', () => {
  const report = reportOf({});
  expect(report.verdict).toBe('leak');
  expect(report.sites[0]).toMatchObject({
    line: 8,
    verdict: 'leak',
    sinceMs: MS,
    graph: { variable: 'total', tensors: 1, nodes: 288, atLeast: false, nodesPerStep: 3 },
  });
  expect(report.sites[0]!.hiddenGrowthBytesPerMinute).toBeGreaterThan(1e6);
  expect(report.sites.find(({ line }) => line === 10)).toMatchObject({ hiddenBytes: 48 * 8192 });
  expect(sentenceOf({})).toMatch(
    /^LEAK {2}running-loss\.js:8 \(total\) carries a graph of 288 nodes, \+3 per step; use detach\(\) or item\(\)\. It retains .* that no tensor accounts for, .*\. 384\.0 KiB held by graphs were allocated at running-loss\.js:10\./,
  );
  // Without the file beside it: the function's name.
  fs.renameSync(source, `${source}.away`);
  expect(sentenceOf({})).toContain('running-loss.js:8 (train) carries');
  fs.renameSync(`${source}.away`, source);
});

test('a graph that hangs on a gradient is named at the tensor that has the gradient, with its remedy', () => {
  const report = reportOf({ flags: () => 8 | 2 });
  expect(report.sites[0]).toMatchObject({
    line: 8,
    graph: { variable: 'total', onGradient: true, savedBytes: 48 * 8192, nodesPerMinute: 1440 },
    cause: { kind: 'graph', remedy: expect.stringContaining('zeroGrad({ setToNone: true })') },
  });
  expect(sentenceOf({ flags: () => 8 | 2 })).toMatch(
    /running-loss\.js:8 \(total\) has a gradient that carries a graph of 288 nodes, .*; use backward\(\) without createGraph, zeroGrad/,
  );
  expect(reportOf({}).sites[0]!.graph!.onGradient).toBe(false);
});

test('a growing graph is a leak, however few bytes it holds; a graph of constant size, or that is freed, is not', () => {
  expect(reportOf({ bytes: 0 }).sites[0]).toMatchObject({ line: 8, verdict: 'leak' });
  expect(sentenceOf({ bytes: 0 })).toMatch(/ \(total\) carries a graph of 288 nodes, .* It grows/);
  expect(reportOf({ bytes: 0, nodes: () => 40 }).verdict).toBe('clean');
  expect(reportOf({ bytes: 0, nodes: (i) => 6 * (i % 8) }).verdict).toBe('clean');
});

test('among lines of the same graph: first those that survive collections, then the value that reaches itself', () => {
  const shown = (i: number) => ({ site: SHOWN, tensors: 1, nodes: 6 * i + 1 });
  expect(reportOf({ more: (i) => [shown(i)] }).sites[0]).toMatchObject({ line: 8 });
  const collected = (i: number) => (i % 4 === 0 ? 4 : 0);
  const garbage = (i: number) =>
    collected(i) === 0 ? { ...shown(i), flags: 2 } : { site: SHOWN, tensors: 0, nodes: 0, flags: 4 };
  expect(reportOf({ more: (i) => [garbage(i)], flags: (i) => collected(i) }).sites[0]).toMatchObject({ line: 8 });
});

test('a graph that was counted too seldom to be judged still names the line that carries it', () => {
  const seldom = (i: number) => 6 * (i < 20 ? 4 : i < 40 ? 20 : 40);
  expect(reportOf({ nodes: seldom }).sites[0]).toMatchObject({ line: 8, verdict: 'leak', graph: null });
});

test('memory held by something other than a graph has the line that made it', () => {
  const report = reportOf({ nodes: () => 0 });
  expect(report.sites[0]).toMatchObject({ line: 10, verdict: 'leak', graph: null });
  expect(report.sites.map(({ file }) => file)).not.toContain('(not in JS tensors)');
});

test('a graph too large to count is marked, and thinned rounds keep what graphs hold', () => {
  expect(sentenceOf({ flags: () => 3 })).toContain('carries a graph of more than 288 nodes');
  const capture = parse(running({ rounds: 192 }));
  condense(capture, { rounds: 64, rows: 1e6 });
  expect(capture.ticks.length).toBeLessThanOrEqual(64);
  expect(analyse(capture).sites[0]).toMatchObject({ line: 8, graph: { nodes: 6 * 192 } });
});

test('a redacted report does not name variables', () => {
  const redacted = redactReport(reportOf({}), new Redaction());
  expect(redacted.sites[0]!.graph).toMatchObject({ variable: '', nodes: 288 });
  expect(JSON.stringify(redacted)).not.toContain('total"');
});

test('a graph whose growth is less than 99% certain is in doubt: each graph is judged by itself', () => {
  for (const seed of [17, 36, 118]) {
    const rand = random(seed);
    const nodes = Array.from({ length: 60 }, (_, i) => Math.round(60 + i + 60 * rand()));
    const report = reportOf({ bytes: 0, nodes: (i) => nodes[i]! });
    expect([seed, report.verdict, report.sites[0]!.line]).toEqual([seed, 'insufficient', 8]);
  }
});

test('a graph that is freed only at the end is not clean', () => {
  const report = reportOf({ bytes: 0, nodes: (i) => (i < 48 ? 6 * i : 0) });
  expect(report).toMatchObject({ verdict: 'insufficient', summary: { insufficient: 'grew-to-the-end' } });
  expect(report.sites[0]).toMatchObject({ line: 8, kind: 'grew-to-the-end', freedMs: MS });
  expect(renderText(report, { colors, folder })).toMatch(
    /INSUFFICIENT {2}running-loss\.js:8:17 carries a graph that grew to 282 nodes until the end, and was freed only in the last 250 ms: /,
  );
});

/** A site with hundreds of garbage, collected every `gap` rounds, of whose tensors one in every second round is held for `lives` rounds. */
function crowd(lives: number, gap: number, rounds = 64, isHeld = (_: number) => true) {
  const builder = new CaptureBuilder().site(1, ['/srv/app.js', 5, 1]);
  for (let i = 1, id = 1; i <= rounds; i++) {
    const collections = Math.floor(i / gap);
    const old = id - Math.floor(lives / 2);
    if (i % 2 === 1 && isHeld(i)) {
      if (old > 0) builder.deaths(old);
      builder.births({ id, site: 1, birthMs: i * MS - 10, owner: 1, bytes: 64 });
      id++;
    }
    const live = 30 + (i % gap) * 210 + ((i * 7919) % 90) + Math.min(id, lives / 2);
    builder.tick({ ms: i * MS, collections, collectedMs: Math.max(0, collections * gap * MS - 20) }, [
      { site: 1, liveTensors: live, liveBytes: 64 * live, allocatedTensors: 300 * i, oldestBirthMs: 100 },
    ]);
  }
  return analyse(parse(builder.end()));
}

test('survivors: few tensors that grow steadily among hundreds of garbage are a leak', () => {
  for (const gap of [4, 7, 12]) expect(crowd(Infinity, gap).sites[0]).toMatchObject({ line: 5, verdict: 'leak' });
});

test('survivors: growth that slows down is not clean either', () => {
  const slower = (i: number) => i < 40 || i % 3 === 0;
  expect(crowd(Infinity, 12, 64, slower)).toMatchObject({ verdict: 'insufficient', sites: [{ line: 5 }] });
});

/** A cache that fills at 12 tensors a round until `full`; there are collections only in its first 20 rounds. */
function filled(full: number, rounds = 64) {
  const builder = new CaptureBuilder().site(1, ['/srv/app.js', 5, 1]).site(2, ['/srv/app.js', 9, 1]);
  let id = 0;
  for (let i = 1; i <= rounds; i++) {
    for (let k = 0; k < 12 && id < full; k++)
      builder.births({ id: ++id, site: 1, birthMs: i * MS - 10, owner: 1, bytes: 64 });
    const collections = Math.floor(Math.min(i, 20) / 4);
    builder.tick({ ms: i * MS, collections, collectedMs: Math.max(0, collections * 4 * MS - 20) }, [
      { site: 1, liveTensors: id, liveBytes: 64 * id, allocatedTensors: id, oldestBirthMs: 50 },
      { site: 2, liveTensors: i % 3, liveBytes: 64 * (i % 3), allocatedTensors: 300 * i, oldestBirthMs: i * MS - 5 },
    ]);
  }
  return analyse(parse(builder.end()));
}

test('survivors: a cache that was full before the next collection is not a leak', () => {
  for (const full of [240, 264, 300])
    expect({ full, verdict: filled(full).verdict }).toEqual({ full, verdict: 'clean' });
  expect(filled(Infinity).sites[0]).toMatchObject({ line: 5, verdict: 'leak' });
});

test('survivors: evictions of a full cache between collections are not growth', () => {
  for (const gap of [4, 7, 12]) {
    for (const lives of [4, 8, 12, 20, 32]) {
      expect({ gap, lives, verdict: crowd(lives, gap).verdict }).toEqual({ gap, lives, verdict: 'clean' });
    }
  }
});

/** A queue of 40 tensors a round that is flushed every 7 rounds; each collection comes one round later after a flush. */
function queue(rounds: number) {
  const builder = new CaptureBuilder().site(1, ['/srv/app.js', 5, 1]);
  let [id, oldest] = [0, 1];
  for (let i = 1; i <= rounds; i++) {
    while (i % 7 === 0 && oldest <= id) builder.deaths(oldest++);
    for (let k = 0; k < 40; k++) builder.births({ id: ++id, site: 1, birthMs: i * MS - 10, owner: 1, bytes: 64 });
    const collections = Math.floor(i / 8);
    const live = id - oldest + 1;
    builder.tick({ ms: i * MS, collections, collectedMs: Math.max(0, collections * 8 * MS - 5) }, [
      { site: 1, liveTensors: live, liveBytes: 64 * live, allocatedTensors: id, oldestBirthMs: 50 },
    ]);
  }
  return analyse(parse(builder.end()));
}

test('survivors: a queue whose flushes the collections follow ever later is clean', () => {
  for (const rounds of [49, 52, 55])
    expect({ rounds, verdict: queue(rounds).verdict }).toEqual({ rounds, verdict: 'clean' });
});

test('malformed records: sites without a stack, impossible counts, half a row', () => {
  const builder = new CaptureBuilder().site(1, ['/srv/app.js', 5, 1]);
  const most = Buffer.alloc(100, 0xff);
  for (let i = 1; i <= 48; i++) {
    most.writeUInt32LE(i % 2, 0);
    builder.packet(PacketType.Graphs, most);
    builder.tick({ ms: i * MS, collectedMs: 2 ** 31 }, [{ site: 1, liveTensors: i % 5, liveBytes: 4 }]);
  }
  const report = analyse(parse(builder.end()));
  expect(JSON.stringify(report)).not.toMatch(/NaN|Infinity/);
  expect(report.sites.every(({ hiddenBytes }) => Number.isFinite(hiddenBytes))).toBe(true);
  const many = new CaptureBuilder();
  const rows = Buffer.alloc(40 * 300_000);
  for (let i = 0; i < 300_000; i++) rows.writeUInt32LE(i, 40 * i);
  expect(() => parse(many.packet(PacketType.Graphs, rows).tick({ ms: 1 }))).toThrow('series of counters');
});

test('names of values in source lines', () => {
  const at = (text: string, call: string) => variableIn(text, text.indexOf(call) + 1);
  expect(at('  total = total.add(loss);', 'add')).toBe('total');
  expect(at('const { a } = f(); let sum = a.add(b)', 'add')).toBe('sum');
  expect(at('this.#state = mixed.tanh();', 'tanh')).toBe('this.#state');
  expect(at('this.state: Tensor = mixed.tanh();', 'tanh')).toBe('this.state');
  expect(at('    return total.add(loss);', 'add')).toBe('total');
  expect(at('if (a === b.add(c)) f();', 'add')).toBe('b');
  expect(at('steps(() => x.add(1))', 'add')).toBe('x');
  expect(at('torch.add(a, b)', 'add')).toBe('');
  expect(variableIn('', 5)).toBe('');
  expect(variableIn('x'.repeat(100_000), 99_999)).toBe('');
});

test('names that a pattern in a source line binds', () => {
  const at = (text: string) => variableIn(text, text.indexOf('forward') + 1);
  expect(at('const [h2, c2] = net.cell.forward(x, [h, c]);')).toBe('h2, c2');
  expect(at('  [h, c] = net.cell.forward(x, [h, c]);')).toBe('h, c');
  expect(at('if (more) [h, this.#c] = await net.cell.forward(x);')).toBe('h, this.#c');
  expect(at('steps(() => { ({ h, c } = net.forward(x)); })')).toBe('h, c');
  expect(at('const { values, indices: best } = net.forward(x)')).toBe('values, best');
  expect(at('const { values = 1, n = f(a, b), ...rest } = net.forward(x)')).toBe('values, n, rest');
  expect(at('const [, h = [1, 2], , c] = net.forward(x)')).toBe('h, c');
  expect(at("const { a: [b, { c }] = [], [key]: d, 'e=]': [] } = net.forward(x)")).toBe('b, c, d');
  expect(at('let [a, b, c, d, e] = net.forward(x)')).toBe('a, b, c, …');
  expect(at('const [a, b]: [Tensor, Tensor] = net.forward(x)')).toBe('a, b');
  expect(at('const { [key]: a, b }: { a: T } = net.forward(x)')).toBe('a, b');
  expect(at('const a: { b: [T, T] } = net.forward(x)')).toBe('a');
  expect(at('for (const [a, b] of net.forward(x)) f(a);')).toBe('a, b');
  expect(at('for (const { a } of list) sum.push(net.forward(a))')).toBe('net');
  expect(at('const [a, b] = f(); c = net.forward(a)')).toBe('c');
  expect(at('const [a, b] = f(); net.forward(a)')).toBe('net');
  expect(at('const [a, b] = f(() => { const c = net.forward(a); })')).toBe('c');
  expect(at('const a = 1; const [b] = net.forward(a)')).toBe('b');
  expect(at('states[i] = net.forward(a)')).toBe('net');
  expect(at('if ([a, b] == net.forward(a)) f();')).toBe('net');
  // The names of a pattern that begins on an earlier line cannot be read; other texts are not patterns.
  expect(at('} = net.forward(x);')).toBe('');
  expect(at('  b: [c, d], e ] = net.forward(x);')).toBe('');
  expect(at('[all[0], b] = net.forward(x);')).toBe('');
  expect(at('const [] = net.forward(x);')).toBe('');
  expect(at('} else h = net.forward(x);')).toBe('net');
  for (const text of ['const [', '[]}{'.repeat(100), '[='.repeat(200), '{['.repeat(200), ']='.repeat(200)])
    expect(variableIn(`${text}net.forward(x)`, text.length + 5)).toMatch(/^(net)?$/);
});

test('the target may be on the line before', () => {
  const file = path.join(folder, 'cell.js');
  const at = (text: string) => {
    fs.writeFileSync(file, text);
    const lines = text.slice(0, text.indexOf('forward')).split('\n');
    return variableAt({ file, line: lines.length, column: lines.at(-1)!.length + 1, function: '' });
  };
  expect(at('const [h2, c2] =\r\n  net.forward(x);')).toBe('h2, c2');
  expect(at('total =\n  net.forward(x);')).toBe('total');
  expect(at('const [\n  h2,\n  c2,\n] = net.forward(x);')).toBe('');
  expect(at('if (a ==\n  net.forward(x)) f();')).toBe('net');
  expect(at('f();\nnet.forward(x);')).toBe('net');
});
