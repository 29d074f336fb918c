/** `leak-audit check`: statuses, baseline, suppressions, JUnit and SARIF, with the built command on captures made by hand. */
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { ROOT } from '../support/torch';
import { CaptureBuilder, leakyCapture } from './capture-builder';

const CLI = path.join(ROOT, 'dist/cli/leak-audit.js');

const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'check-')));
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

const write = (name: string, content: string | Buffer) => fs.writeFileSync(path.join(folder, name), content);
const json = (name: string, value: unknown) => write(name, JSON.stringify(value));
const read = (name: string) => fs.readFileSync(path.join(folder, name), 'utf8');

/** Runs in `folder`, which holds the captures. */
function check(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, 'check', ...args], {
    cwd: folder,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

/** Site 1 (src/cache.js:10, `put`) leaks `rate` KiB a round, site 2 (src/model.js:20) holds one tensor. */
function leaky(rate = 1, line = 10): Buffer {
  const at = (file: string) => path.join(folder, file);
  const builder = new CaptureBuilder().site(1, [at('src/cache.js'), line, 5, 'put'], [at('src/app.js'), 3, 1]);
  builder.site(2, [at('src/model.js'), 20, 3]);
  for (let i = 1; i <= 48; i++) {
    builder.tick({ ms: i * 250 }, [
      { site: 1, liveTensors: i * rate, liveBytes: i * rate * 1024, oldestBirthMs: 100 },
      { site: 2, liveTensors: 1, liveBytes: 4096, allocatedTensors: 5 * i },
    ]);
  }
  return builder.end().build();
}

function steady(lost = 0): Buffer {
  const builder = new CaptureBuilder().site(1, [path.join(folder, 'a.js'), 1, 1]);
  for (let i = 1; i <= 40; i++) builder.tick({ ms: i * 250, lost }, [{ site: 1, liveTensors: 3, liveBytes: 3000 }]);
  return builder.end().build();
}

beforeAll(() => {
  write('leaky.ltna', leaky());
  write('moved.ltna', leaky(1, 14));
  write('faster.ltna', leaky(3));
  write('steady.ltna', steady());
  write('lost.ltna', steady(2));
  write('short.ltna', leakyCapture(4).build());
});

describe('exit status', () => {
  test('0 clean, 1 leak, 3 too little data, 4 lost events', () => {
    expect(check('steady.ltna')).toMatchObject({ status: 0, stdout: 'clean\n' });
    const leak = check('leaky.ltna');
    expect(leak.status).toBe(1);
    expect(leak.stdout).toBe(
      'leak\n  src/cache.js:10:5 grows by 240.0 KiB and 240 tensors per minute (confidence more than 99.9%)\n',
    );
    expect(check('short.ltna')).toMatchObject({
      status: 3,
      stdout:
        'insufficient: 5 tensors are alive after 1.0 s (4 rounds), which is too short to distinguish a leak from warm-up\n',
    });
    const missing = '  note: at least 2 events were lost: the figures are too low\n';
    expect(check('lost.ltna')).toMatchObject({ status: 4, stdout: `lost: at least 2 events are missing\n${missing}` });
  });

  test('--warmup, --max-live and --max-age', () => {
    expect(check('leaky.ltna', '--warmup', '40')).toMatchObject({ status: 3 });
    expect(check('steady.ltna', '--max-live', '2000')).toMatchObject({ status: 1 });
    expect(check('steady.ltna', '--max-live', '4000')).toMatchObject({ status: 0 });
    const old = check('steady.ltna', '--max-age', '5s');
    expect(old).toMatchObject({ status: 1, stdout: 'over the limit\n  a.js:1:1 holds a tensor that is 10.0 s old\n' });
    expect(check('steady.ltna', '--max-age', '60s')).toMatchObject({ status: 0 });
  });
});

describe('baseline', () => {
  test('is written, and its leaks pass, even if lines have moved; leaks that got faster fail', () => {
    const written = check('leaky.ltna', '--write-baseline', 'baseline.json');
    expect(written.status).toBe(0);
    expect(written.stdout).toMatch(/\n {2}note: wrote baseline\.json: 1 known leak\n$/);
    expect(JSON.parse(read('baseline.json'))).toEqual({
      version: 1,
      tolerance: 2,
      sites: [
        { file: 'src/cache.js', line: 10, function: 'put', growthBytesPerMinute: 245760, growthTensorsPerMinute: 240 },
      ],
    });
    const known = check('leaky.ltna', '--baseline', 'baseline.json');
    expect(known.status).toBe(0);
    expect(known.stdout).toMatch(/^clean\n {2}known: src\/cache\.js:10:5 grows by/);
    expect(check('moved.ltna', '--baseline', 'baseline.json').status).toBe(0);
    const faster = check('faster.ltna', '--baseline', 'baseline.json');
    expect(faster.status).toBe(1);
    expect(faster.stdout).toMatch(/grows by 720\.0 KiB .*; the baseline has 240\.0 KiB per minute/);
  });

  test('an entry that no longer leaks is reported', () => {
    const site = { file: 'src/old.js', line: 1, function: '', growthBytesPerMinute: 1, growthTensorsPerMinute: 1 };
    json('old.json', { version: 1, sites: [site] });
    const { status, stdout } = check('steady.ltna', '--baseline', 'old.json');
    expect(status).toBe(0);
    expect(stdout).toBe('clean\n  note: the baseline entry src/old.js:1 no longer leaks: remove it\n');
  });

  const entry = { file: 'a.js', line: 1, function: '', growthBytesPerMinute: 1, growthTensorsPerMinute: 1 };
  test.each<[string, unknown, string]>([
    ['no object', [], 'expected an object, got []'],
    ['no version', { sites: [] }, 'version: expected 1, got nothing'],
    ['another version', { version: 2, sites: [] }, 'version: expected 1, got 2'],
    ['no sites', { version: 1 }, 'sites: expected a list, got nothing'],
    ['tolerance', { version: 1, tolerance: 0.5, sites: [] }, 'tolerance: expected a number of 1 or more, got 0.5'],
    ['unknown field', { version: 1, sites: [], site: [] }, 'site: unknown field; expected version, tolerance, sites'],
    ['site', { version: 1, sites: [null] }, 'sites[0]: expected an object, got null'],
    ['file', { version: 1, sites: [entry, { ...entry, file: '' }] }, 'sites[1].file: expected a non-empty string'],
    [
      'line',
      { version: 1, sites: [{ ...entry, line: 0 }] },
      'sites[0].line: expected a whole number of 1 or more, got 0',
    ],
    ['function', { version: 1, sites: [{ ...entry, function: 7 }] }, 'sites[0].function: expected a string, got 7'],
    [
      'bytes',
      { version: 1, sites: [{ ...entry, growthBytesPerMinute: '1' }] },
      'sites[0].growthBytesPerMinute: expected',
    ],
    [
      'tensors',
      { version: 1, sites: [{ ...entry, growthTensorsPerMinute: -1 }] },
      'sites[0].growthTensorsPerMinute: expected',
    ],
    ['prototype', JSON.parse('{"version":1,"sites":[],"__proto__":1}'), '__proto__: unknown field'],
  ])('%s', (_, value, message) => {
    json('bad.json', value);
    const { status, stdout, stderr } = check('leaky.ltna', '--baseline', 'bad.json');
    expect(stderr).toContain(`bad.json: ${message}`);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  });

  test.each([
    ['missing.json', 'missing.json: no such file'],
    ['.', '.: expected a regular file, got a folder'],
    ['empty.json', 'empty.json: expected JSON, got an empty file'],
    ['text.json', 'text.json: not valid JSON'],
  ])('%s is not a baseline', (name, message) => {
    write('empty.json', ' \n');
    write('text.json', 'leaks:\n\n  - a\n');
    const { status, stderr } = check('leaky.ltna', '--baseline', name);
    expect(stderr).toContain(message);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(status).toBe(2);
  });
});

describe('suppressions', () => {
  const suppress = (...suppressions: object[]) => {
    json('suppressions.json', { version: 1, suppressions });
    return check('leaky.ltna', '--max-age', '10s', '--suppressions', 'suppressions.json');
  };
  const model = { file: 'src/model.js', reason: 'weights' };

  test('excuse matching sites, and show the reason', () => {
    const { status, stdout } = suppress(
      { file: 'src/*.js', function: 'put', reason: 'bounded by the catalogue' },
      model,
    );
    expect(status).toBe(0);
    expect(stdout).toMatch(/^clean\n {2}suppressed: src\/cache\.js:10:5 grows by .*: bounded by the catalogue\n/);
    expect(suppress({ file: '**', reason: 'all' }).status).toBe(0);
  });

  test('do not excuse other sites', () => {
    for (const other of [{ file: '*.js' }, { file: 'src/cache.js', line: 11 }, { file: 'src/*', function: 'get' }]) {
      const { status, stdout } = suppress({ ...other, reason: 'r' }, model);
      expect(status).toBe(1);
      expect(stdout).toContain('matches nothing');
    }
  });

  test('apply until their last day', () => {
    expect(suppress({ file: '**', reason: 'r', until: '2999-12-31' }).status).toBe(0);
    const over = suppress({ file: '**', reason: 'soon fixed', until: '2020-02-29' });
    expect(over.status).toBe(1);
    expect(over.stdout).toContain('the suppression of ** expired after 2020-02-29 (soon fixed)');
  });

  test.each([
    [{ file: 'a.js' }, 'suppressions[0].reason: expected a non-empty string, got nothing'],
    [{ file: 'a.js', reason: ' ' }, 'suppressions[0].reason: expected a non-empty string, got " "'],
    [{ reason: 'r' }, 'suppressions[0].file: expected'],
    [{ file: 'a.js', reason: 'r', until: '2026-02-30' }, 'suppressions[0].until: expected a date such as "2027-01-31"'],
    [{ file: 'a.js', reason: 'r', line: 1.5 }, 'suppressions[0].line: expected'],
    [{ file: 'a.js', reason: 'r', path: 'b' }, 'suppressions[0].path: unknown field'],
  ])('%j is refused', (entry, message) => {
    const { status, stderr } = suppress(entry);
    expect(stderr).toContain(message);
    expect(status).toBe(2);
  });
});

test('usage errors are reported before the capture is read, and write nothing', () => {
  expect(check('leaky.ltna', '--baseline', 'a', '--write-baseline', 'b')).toMatchObject({ status: 2 });
  expect(check('leaky.ltna', '--junit', 'no/such/folder/x.xml').stderr).toContain('cannot write');
  expect(check('leaky.ltna', '--sarif', '.').stderr).toContain('cannot write');
  expect(check('no-such-file').status).toBe(2);
  expect(fs.existsSync(path.join(folder, 'b'))).toBe(false);
});

/** The result of Python's strict XML parser: nested [name, attributes, children]. */
type Node = [string, Record<string, string>, Node[]];
function parseXml(file: string): Node {
  const program =
    'import json, sys, xml.etree.ElementTree as e\n' +
    'f = lambda n: [n.tag, n.attrib, [f(c) for c in n]]\n' +
    'print(json.dumps(f(e.parse(sys.argv[1]).getroot())))';
  const { stdout, stderr } = spawnSync('python3', ['-c', program, path.join(folder, file)], { encoding: 'utf8' });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
}

describe('--junit', () => {
  /** The elements and attributes that the schema of JUnit's reports requires. */
  function validate([name, attributes, suites]: Node): Node[] {
    expect(name).toBe('testsuites');
    expect(suites).toHaveLength(1);
    const [suite, figures, cases] = suites[0]!;
    expect(suite).toBe('testsuite');
    const count = (result: string) => cases.filter(([, , children]) => children[0]?.[0] === result).length;
    for (const given of [attributes, figures]) {
      expect(given).toMatchObject({
        tests: String(cases.length),
        failures: String(count('failure')),
        errors: String(count('error')),
        skipped: String(count('skipped')),
      });
      expect(Number(given.time)).toBeGreaterThanOrEqual(0);
    }
    for (const [tag, { classname, name: title, time }, children] of cases) {
      expect(tag).toBe('testcase');
      expect([classname, title, time].every((text) => text !== undefined && text !== '')).toBe(true);
      for (const [child, { message }] of children) {
        expect(['failure', 'error', 'skipped']).toContain(child);
        expect(message).toBeTruthy();
      }
    }
    return cases;
  }

  test('a failure for each leak, a case for each site and for the program', () => {
    expect(check('leaky.ltna', '--junit', 'out.xml').status).toBe(1);
    const cases = validate(parseXml('out.xml'));
    expect(cases.map(([, { classname, name }]) => `${classname} ${name}`)).toEqual([
      'src/cache.js 10:5 put',
      'src/model.js 20:3',
      'leak-audit program',
    ]);
    expect(cases[0]![2]).toEqual([['failure', expect.objectContaining({ type: 'leak' }), []]]);
  });

  test('a known leak is skipped, lost events are an error', () => {
    check('leaky.ltna', '--write-baseline', 'known.json', '--junit', 'out.xml');
    expect(validate(parseXml('out.xml'))[0]![2][0]![0]).toBe('skipped');
    check('lost.ltna', '--junit', 'out.xml');
    expect(validate(parseXml('out.xml')).at(-1)![2]).toEqual([
      ['error', { message: 'lost: at least 2 events are missing', type: 'lost-events' }, []],
    ]);
  });

  test('names stay text, whatever they contain', () => {
    const builder = new CaptureBuilder().site(1, ['/x/<a>&"\'\u0001\ud800.js', 1, 1, ']]><b>\n']);
    for (let i = 1; i <= 48; i++) builder.tick({ ms: i * 250 }, [{ site: 1, liveTensors: i, liveBytes: i * 1024 }]);
    write('odd.ltna', builder.end().build());
    check('odd.ltna', '--junit', 'out.xml');
    expect(validate(parseXml('out.xml'))[0]![1]).toMatchObject({
      classname: '/x/<a>&"\'\ufffd\ufffd.js',
      name: '1:1 ]]><b>\n',
    });
  });
});

describe('--sarif', () => {
  /** The requirements of SARIF 2.1.0's schema for the objects used here. */
  function validate(log: any): any {
    expect(Object.keys(log).sort()).toEqual(['$schema', 'runs', 'version']);
    expect(log.version).toBe('2.1.0');
    expect(log.runs).toHaveLength(1);
    const [run] = log.runs;
    const { name, semanticVersion, rules } = run.tool.driver;
    expect(name).toBe('leak-audit');
    expect(semanticVersion).toMatch(/^\d+\.\d+\.\d+/);
    expect(new Set(rules.map(({ id }: any) => id)).size).toBe(rules.length);
    expect(run.columnKind).toBe('utf16CodeUnits');
    for (const invocation of run.invocations) {
      expect(typeof invocation.executionSuccessful).toBe('boolean');
      for (const { level, message } of invocation.toolExecutionNotifications) {
        expect(['none', 'note', 'warning', 'error']).toContain(level);
        expect(message.text).toBeTruthy();
      }
    }
    for (const result of run.results) {
      expect(rules[result.ruleIndex].id).toBe(result.ruleId);
      expect(['none', 'note', 'warning', 'error']).toContain(result.level);
      expect(result.message.text).toBeTruthy();
      expect([undefined, 'new', 'unchanged', 'updated', 'absent']).toContain(result.baselineState);
      for (const print of Object.values(result.partialFingerprints)) expect(print).toMatch(/^[0-9a-f]{32}$/);
      for (const { kind, justification } of result.suppressions) {
        expect(['inSource', 'external']).toContain(kind);
        expect(justification).toBeTruthy();
      }
      const frames = (result.stacks ?? []).flatMap(({ frames: list }: any) =>
        list.map(({ location }: any) => location),
      );
      for (const { physicalLocation } of [...(result.locations ?? []), ...frames]) {
        expect(() => new URL(physicalLocation.artifactLocation.uri, 'file:///base/')).not.toThrow();
        expect(physicalLocation.region.startLine).toBeGreaterThanOrEqual(1);
        expect(physicalLocation.region.startColumn ?? 1).toBeGreaterThanOrEqual(1);
      }
    }
    return run;
  }
  const sarif = (...args: string[]) => {
    check(...args, '--sarif', 'out.sarif');
    return validate(JSON.parse(read('out.sarif')));
  };

  test('a name with half of a surrogate pair', () => {
    const builder = new CaptureBuilder().site(1, [path.join(folder, 'src/a \ud800.js'), 1, 1]);
    for (let i = 1; i <= 48; i++) builder.tick({ ms: i * 250 }, [{ site: 1, liveTensors: i, liveBytes: i * 1024 }]);
    write('half.ltna', builder.end().build());
    const [{ locations }] = sarif('half.ltna').results;
    expect(locations[0].physicalLocation.artifactLocation.uri).toBe('src/a%20%EF%BF%BD.js');
  });

  test('a leak is at its line, with its stack', () => {
    const { results, invocations } = sarif('leaky.ltna');
    expect(results).toHaveLength(1);
    expect(results[0]).toMatchObject({ ruleId: 'leak', suppressions: [] });
    expect(results[0].baselineState).toBeUndefined();
    expect(results[0].locations[0].physicalLocation).toEqual({
      artifactLocation: { uri: 'src/cache.js', uriBaseId: '%SRCROOT%' },
      region: { startLine: 10, startColumn: 5 },
    });
    expect(results[0].stacks[0].frames).toHaveLength(2);
    expect(invocations[0]).toMatchObject({ executionSuccessful: true, exitCode: 1 });
  });

  test('baseline, suppressions and fingerprints', () => {
    check('leaky.ltna', '--write-baseline', 'known.json');
    const states = ['leaky.ltna', 'faster.ltna', 'moved.ltna'].map(
      (file) => sarif(file, '--baseline', 'known.json').results[0],
    );
    expect(states.map((result) => result.baselineState)).toEqual(['unchanged', 'updated', 'unchanged']);
    expect(new Set(states.map((result) => JSON.stringify(result.partialFingerprints))).size).toBe(1);
    json('all.json', { version: 1, suppressions: [{ file: '**', reason: 'because' }] });
    expect(sarif('leaky.ltna', '--suppressions', 'all.json').results[0].suppressions).toEqual([
      { kind: 'external', justification: 'because' },
    ]);
  });

  test('a limit on the program does not have a line; lost events mean a failed run', () => {
    const { results } = sarif('steady.ltna', '--max-live', '2000');
    expect(results[0]).toMatchObject({ ruleId: 'max-live' });
    expect(results[0].locations).toBeUndefined();
    const { invocations } = sarif('lost.ltna');
    expect(invocations[0]).toMatchObject({ executionSuccessful: false, exitCode: 4 });
  });
});
