/** `npm run demo`: trains the model, then runs the service twice under leak-audit, with the leak and without it. */
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { parseArgs } from 'node:util';
import { type Audit, auditService } from './audit';
import { type Digits, loadDigits } from './data';
import { formatSite, formatSpeed, paint } from './show';
import { formatEpoch, train } from './train';

const EPOCHS = 5;

interface Service {
  title: string;
  cache: 'unbounded' | 'bounded';
  expected: 'leak' | 'clean';
}

const SERVICES: Service[] = [
  { title: 'the leaky service: it remembers every image, by request id', cache: 'unbounded', expected: 'leak' },
  { title: 'the fixed service: it remembers 256 images, by content', cache: 'bounded', expected: 'clean' },
];

const say = (text = '') => process.stdout.write(`${text}\n`);

async function demo(folder: string, signal: AbortSignal): Promise<boolean> {
  const { values } = parseArgs({
    options: { seconds: { type: 'string', default: '11' }, rate: { type: 'string', default: '400' } },
  });
  const load = { seconds: Number(values.seconds), perSecond: Number(values.rate) };
  const weights = path.join(folder, 'weights.pt');
  const heldOut = learn(weights);

  const audits: Audit[] = [];
  for (const { title, cache } of SERVICES) {
    say(`\n${paint.bold(title)}`);
    say(`${load.perSecond} digits per second for ${load.seconds} s, under leak-audit\n`);
    const audit = await auditService({ folder, weights, cache, heldOut, ...load, signal });
    const { answered, wrong, failed, seconds } = audit.load;
    say(
      `\n${answered} digits answered in ${seconds.toFixed(1)} s, ${percent(wrong / answered)} misread, ${failed} failed`,
    );
    say(audit.text.trimEnd());
    audits.push(audit);
  }

  say(`\n${paint.bold('verdicts')}`);
  const asExpected = SERVICES.map((service, i) => showVerdict(service, audits[i]!));
  return asExpected.every(Boolean);
}

/** Writes the weights to `file`; returns the held-out digits. */
function learn(file: string): Digits {
  const start = performance.now();
  const split = loadDigits();
  const { training, heldOut } = split;
  say(paint.bold('a model that reads handwritten digits'));
  say(`learns from ${training.labels.length} digits, is tested on ${heldOut.labels.length} others\n`);
  const model = train(split, { epochs: EPOCHS, onEpoch: (epoch) => say(`  ${formatEpoch(epoch)}`) });
  model.save(file);
  say(`\ntrained in ${((performance.now() - start) / 1000).toFixed(1)} s`);
  return heldOut;
}

/** Prints one line per service. Returns whether the report is as expected. */
function showVerdict({ cache, expected }: Service, { report, load }: Audit): boolean {
  const name = cache === 'unbounded' ? 'leaky' : 'fixed';
  const leaks = report.sites.filter((site) => site.verdict === 'leak');
  const worst = leaks[0];
  if (report.verdict === 'leak' && worst !== undefined) {
    say(`  ${name}  ${paint.red('LEAK ')}  ${paint.bold(formatSite(worst))} leaks ${formatSpeed(worst)}`);
  } else if (report.verdict === 'clean') {
    say(`  ${name}  ${paint.green('CLEAN')}  ${report.summary.liveTensors} tensors at the end, none piling up`);
  } else {
    say(`  ${name}  ${report.verdict.toUpperCase()}`);
  }

  const wrong: string[] = [];
  if (report.verdict !== expected) wrong.push(`expected the verdict '${expected}', got '${report.verdict}'`);
  if (expected === 'leak' && (leaks.length !== 1 || path.basename(worst?.file ?? '') !== 'cache.ts')) {
    wrong.push(`expected one leaking line, in cache.ts, got ${leaks.map(formatSite).join(', ') || 'none'}`);
  }
  if (load.failed > 0) wrong.push(`${load.failed} requests failed`);
  for (const text of wrong) console.error(`demo: the ${name} service: ${text}`);
  return wrong.length === 0;
}

const percent = (share: number) => `${(share * 100).toFixed(1)} %`;

async function main(): Promise<void> {
  const interruption = new AbortController();
  let status = 0;
  const interrupt = (code: number) => () => {
    status = code;
    interruption.abort();
  };
  process.on('SIGINT', interrupt(130)).on('SIGTERM', interrupt(143));
  process.stdout.on('error', interrupt(141)); // the reader has closed the pipe, as `| head` does
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'digits-'));
  try {
    if (!(await demo(folder, interruption.signal))) status = 1;
  } catch (error) {
    if (!interruption.signal.aborted) {
      console.error(`demo: ${error instanceof Error ? error.message : error}`);
      status = 1;
    }
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
  process.exitCode = status;
}

void main();
