/**
 * npm test: sets up and builds what is missing, then runs every check. The last line is "N passed, N failed".
 *
 *   AREA…              only these folders of test/, or files by the start of their path: audit, audit/run, native
 *   --fast             without lint, native tests, type check and the files of test/slow.json
 *   --no-lint          skip lint and format checks, which are the same on every platform
 *   --again            for a second platform: also without the files of test/portable.json, which depend on neither libtorch
 *                      nor the system, and with fewer seeds and programs where a test has many (LTN_AGAIN)
 *   --matrix=RELEASE   also run the suite in that Debian release (scripts/matrix.mjs), counted in the last line; where a test
 *                      has many seeds, the platforms share them (LTN_FIRST, LTN_AGAIN)
 *   --minutes=N        with --matrix: N minutes after the start no further test file of that release begins; the files that
 *                      depend most on libtorch come first, and those left out are counted in the table
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { makingTime, releases } from './matrix/roots.mjs';
import { prepareRoot, runSuite, tableOf } from './matrix/suite.mjs';
import { buildDir, inRoot, root } from './paths.mjs';
import { buildAll } from './steps/build.mjs';
import { checkLedger, ensureCodegen } from './steps/codegen.mjs';
import { runMain, StepError } from './steps/errors.mjs';
import { jestTests, slowestFiles } from './steps/jest.mjs';
import { jestUntil } from './steps/jest-until.mjs';
import { lintCpp, lintScripts } from './steps/lint.mjs';
import { withLock } from './steps/lock.mjs';
import { lintPaths } from './steps/named-paths.mjs';
import { nativeTests } from './steps/native-tests.mjs';
import { say } from './steps/progress.mjs';
import { setUp } from './steps/setup.mjs';
import { filesBelow } from './steps/stamps.mjs';
import { Tally } from './steps/tally.mjs';
import { typecheck } from './steps/typecheck.mjs';

const usage = `usage: npm test [-- [AREA…] [--fast] [--no-lint] [--again] [--matrix=RELEASE]… [--minutes=N]]
  AREA               only these folders or files of test/: audit, audit/run, native
  --fast             without lint, native tests, type check and the files of test/slow.json
  --no-lint          skip lint and format checks
  --again            for a second platform: no lint, no file of test/portable.json, fewer seeds
  --matrix=RELEASE   also run the suite in that Debian release: ${releases.join(', ')}
  --minutes=N        begin no further test file of that release N minutes after the start`;

/** The areas whose tests are C++ and run together. */
const nativeAreas = ['codegen', 'native'];

const testFiles = () => filesBelow(['test'], ['.test.ts']).map((file) => path.relative(root, file));

/** The test files of an area, as paths from the root of the checkout. */
const filesOf = (area) =>
  testFiles().filter((file) => file.startsWith(`test/${area}/`) || file.startsWith(`test/${area}.`));

function readOptions() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        help: { type: 'boolean', short: 'h', default: false },
        fast: { type: 'boolean', default: false },
        'no-lint': { type: 'boolean', default: false },
        again: { type: 'boolean', default: false },
        matrix: { type: 'string', multiple: true, default: [] },
        minutes: { type: 'string' },
        until: { type: 'string' }, // of the run in the other release: the time in ms since 1970
      },
    });
    const areas = positionals.map((area) => area.replace(/^test\//, '').replace(/\/$|(\.test)?\.ts$/, ''));
    const release = values.matrix.find((name) => !releases.includes(name));
    if (release !== undefined) throw new Error(`--matrix: expected one of ${releases.join(', ')}, got ${release}`);
    const area = areas.find((name) => !nativeAreas.includes(name) && filesOf(name).length === 0);
    if (area !== undefined) throw new Error(`expected a folder or file of test/, got ${area}`);
    if (values.matrix.length > 0 && (values.fast || areas.length > 0))
      throw new Error('--matrix runs the whole suite: expected neither AREA nor --fast');
    if (values.minutes !== undefined && values.matrix.length === 0)
      throw new Error('--minutes limits the run in another release: expected --matrix=RELEASE beside it');
    const minutes = values.minutes === undefined ? Number.POSITIVE_INFINITY : Number(values.minutes);
    if (!(minutes > 0)) throw new Error(`--minutes: expected a number above 0, got ${values.minutes}`);
    const until = values.until === undefined ? undefined : Number(values.until);
    return { ...values, minutes, until, areas, lint: !values['no-lint'] && !values.again };
  } catch (error) {
    throw new StepError(`${error.message}\n${usage}`);
  }
}

const prepare = (purposes) => withLock(() => setUp(['build', 'tests', ...purposes]));

/** Part of the tests, for work on one subject. */
async function runSome(tally, { areas, fast }) {
  await tally.part('set-up', () => prepare([]), { needed: true });
  await tally.part('build', () => buildAll(), { needed: true });
  if (areas.some((area) => nativeAreas.includes(area))) {
    await tally.part('codegen and native tests', () => nativeTests());
  }
  const slow = fast ? Object.keys(listed('slow.json')) : [];
  const files = (areas.length > 0 ? areas.flatMap(filesOf) : testFiles()).filter((file) => !slow.includes(file));
  if (files.length > 0) await tally.part('Jest', () => jestTests(['--runTestsByPath', ...files]));
}

const listed = (name) => JSON.parse(readFileSync(inRoot('test', name), 'utf8'));

/** The tests that depend on the platform. */
function jestAgain(until = Number.POSITIVE_INFINITY) {
  const skipped = listed('portable.json');
  const files = testFiles().filter((file) => !skipped.includes(file));
  return jestUntil(files, { until, env: { ...process.env, LTN_AGAIN: '1' } });
}

/**
 * The suite in another release. With a limit of time it is left out if its root cannot be made and it cannot be compiled there before
 * `until`, to judge by the time that compiling took here, or if the root's packages cannot be downloaded.
 */
async function testIn(release, { until, compiled, root: begun }) {
  const none = { passed: 0, failed: 0, skipped: 0 };
  const isLate = () => {
    const late = Date.now() + makingTime(release) + compiled > until;
    if (late) say(`The time is over: Debian ${release} was not tested.`);
    return late;
  };
  if (isLate()) return none;
  try {
    await (begun ?? prepareRoot(release));
  } catch (error) {
    if (until === Number.POSITIVE_INFINITY) throw error;
    say(`Debian ${release} was not tested: ${error.message}`);
    return none;
  }
  if (isLate()) return none;
  const outcome = await runSuite(release, { again: true, until });
  say(tableOf([outcome]));
  return { passed: outcome.passed, failed: outcome.failed, skipped: 0 };
}

async function runAll(tally, { lint, again, matrix, minutes, until }) {
  const start = Date.now();
  await tally.part('set-up', () => prepare(lint ? ['lint'] : []), { needed: true });
  // Starts now, because it mostly waits for downloads. The part of that release reports a failure. Where time is limited it
  // starts after the tests here, which it would delay.
  const early = Number.isFinite(minutes) ? [] : matrix;
  const roots = new Map(early.map((release) => [release, prepareRoot(release)]));
  for (const made of roots.values()) made.catch(() => {});
  if (lint) {
    await tally.part('lint: TypeScript and JavaScript', () => lintScripts());
    await tally.part('lint: paths in comments and documents', () => lintPaths());
  }
  await tally.part('codegen', () => withLock(ensureCodegen), { needed: true });
  await tally.part('codegen:check', () => checkLedger());
  // Together, because each of them leaves a core idle for much of its time.
  await Promise.all([
    tally.part('codegen and native tests', () => nativeTests()),
    (async () => {
      if (lint) await tally.part('lint: C++', () => lintCpp());
      await tally.part('types', () => typecheck());
    })(),
  ]);
  await tally.part('build', () => buildAll(), { needed: true });
  const env = { ...process.env, ...(matrix.length > 0 ? { LTN_FIRST: '1' } : {}) };
  const compiled = Date.now() - start;
  let left = 0;
  await tally.part('Jest', async () => {
    if (!again) return jestTests([], { env });
    const counts = await jestAgain(until);
    left = counts.left;
    return counts;
  });
  const slowest = slowestFiles(10);
  for (const release of matrix) {
    const limits = { until: start + minutes * 60_000, compiled, root: roots.get(release) };
    await tally.part(`Debian ${release}`, () => testIn(release, limits));
  }
  mkdirSync(buildDir, { recursive: true });
  writeFileSync(inRoot('build', 'tally.json'), JSON.stringify({ ...tally.totals(), left }));
  return slowest;
}

await runMain(async () => {
  const options = readOptions();
  if (options.help) return void process.stdout.write(`${usage}\n`);
  const tally = new Tally();
  const isPart = options.fast || options.areas.length > 0;
  const slowest = isPart ? await runSome(tally, options) : await runAll(tally, options);
  if (slowest?.length > 0) say(`\nThe slowest test files:\n${slowest.join('\n')}`);
  process.exitCode = tally.finish() ? 0 : 1;
});
