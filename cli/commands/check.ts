/** `leak-audit check FILE …`: the verdict on a capture, or on several as one, as an exit status, for CI. */
import { Command } from 'commander';
import { reportOn } from '../analysis/loaded';
import { loadMerged } from '../analysis/merged';
import { Redaction, redactReport } from '../analysis/redact';
import type { Report } from '../analysis/report';
import { loadCapture } from '../capture/load';
import { baselineOf, readBaseline, renderBaseline } from '../check/baseline';
import { check, type Outcome } from '../check/findings';
import { readSuppressions } from '../check/suppressions';
import { UsageError } from '../errors/errors';
import { renderJunit } from '../reporters/junit';
import { renderSarif } from '../reporters/sarif';
import { checkDistinct, checkOutput, writeOutput } from '../terminal/output';
import { printableAll } from '../terminal/printable';
import { progress, showJudged } from '../terminal/progress';
import { counted, parseBytes, parseCount, parseDuration } from '../terminal/units';
import { print } from '../terminal/writers';

interface Options {
  warmup?: number;
  maxLive?: number;
  maxAge?: number;
  baseline?: string;
  writeBaseline?: string;
  suppressions?: string;
  junit?: string;
  sarif?: string;
  redactSources?: boolean;
}

export function checkCommand(done: (status: number) => void): Command {
  return new Command('check')
    .description(
      'Checks a capture. Exit status: 0 clean, 1 leak or a limit exceeded, 2 wrong usage, 3 too little data, 4 lost events.',
    )
    .argument('<file...>', 'capture file; several, for example of the ranks of a group, are judged as one')
    .option('--warmup <rounds>', 'rounds of the capture to skip (default: a quarter, at least 8)', parseCount)
    .option('--max-live <bytes>', 'also fail if more is live at the end, e.g. 64MiB', parseBytes)
    .option('--max-age <duration>', 'also fail if a live tensor is older, e.g. 60s', parseDuration)
    .option('--baseline <file>', 'known leaks, which fail only if they grow more than "tolerance" (2) times as fast')
    .option('--write-baseline <file>', 'write the leaks of this capture to a baseline, and let them pass')
    .option('--suppressions <file>', 'sites to ignore, each with a reason')
    .option('--junit <file>', 'also write the result as JUnit XML')
    .option('--sarif <file>', 'also write the result as SARIF 2.1.0')
    .option(
      '--redact-sources',
      'remove the names of files, functions, labels and marks, and the command, to share the output',
    )
    .addHelpText(
      'after',
      `
Baseline and suppressions are JSON. File names in them are relative to the
working folder. A known leak is matched by its line, or by its function if lines
have moved, and may grow "tolerance" (2) times as fast. A suppression may have a
"line", a "function", and "until", the last day on which it applies; * and ** in
"file" match within and across folders:

  { "version": 1, "suppressions": [
    { "file": "src/cache.ts", "function": "warm",
      "reason": "bounded by the catalogue", "until": "2027-01-31" } ] }

Examples:
  leak-audit run -o app.ltna -- npm start
  leak-audit check app.ltna --write-baseline leaks.json
  leak-audit check app.ltna --baseline leaks.json --junit leaks.xml
  leak-audit check app.ltna --max-live 64MiB --max-age 10m --sarif leaks.sarif
  leak-audit check rank-0.ltna rank-1.ltna`,
    )
    .action((files: string[], options: Options) => done(run(files, options)));
}

function run(files: string[], options: Options): number {
  if (options.baseline !== undefined && options.writeBaseline !== undefined) {
    throw new UsageError('--baseline and --write-baseline cannot be combined');
  }
  if (options.writeBaseline !== undefined && options.redactSources) {
    throw new UsageError(
      '--write-baseline and --redact-sources cannot be combined: a baseline needs the names to match leaks',
    );
  }
  const { junit, sarif, writeBaseline } = options;
  const named = files.map((file, i) => [files.length === 1 ? 'the capture' : `capture ${i + 1}`, file]);
  checkDistinct({
    ...Object.fromEntries(named),
    '--baseline': options.baseline,
    '--suppressions': options.suppressions,
    '--write-baseline': writeBaseline,
    '--junit': junit,
    '--sarif': sarif,
  });
  for (const output of [junit, sarif, writeBaseline]) checkOutput(output);
  const suppressions = options.suppressions === undefined ? [] : readSuppressions(options.suppressions);
  const known = options.baseline === undefined ? undefined : readBaseline(options.baseline);
  const folder = process.cwd();
  const loaded = files.length > 1 ? loadMerged(files) : loadCapture(files[0]!);
  const report = reportOn(loaded, { warmup: options.warmup, seen: showJudged });
  const baseline = writeBaseline === undefined ? known : baselineOf(report, folder);
  const { maxLive, maxAge } = options;
  const redaction = options.redactSources ? new Redaction() : undefined;
  const outcome = check(report, { maxLive, maxAge, baseline, suppressions, redaction }, folder);
  if (writeBaseline !== undefined) {
    writeOutput(writeBaseline, renderBaseline(baseline!));
    if (writeBaseline !== '-')
      outcome.notes.push(`wrote ${writeBaseline}: ${counted(baseline!.sites.length, 'known leak')}`);
  }
  const shown = redaction === undefined ? report : redactOutcome(report, outcome, redaction);
  if (junit !== undefined) writeOutput(junit, renderJunit(shown, outcome, folder));
  if (sarif !== undefined) {
    writeOutput(sarif, renderSarif(shown, outcome, folder, baseline !== undefined));
  }
  progress.end();
  print(renderOutcome(outcome));
  return outcome.status;
}

/** The report without names; the findings then refer to its sites. */
function redactOutcome(report: Report, outcome: Outcome, redaction: Redaction): Report {
  const shown = redactReport(report, redaction);
  const sites = new Map(report.sites.map((site, i) => [site, shown.sites[i]!]));
  for (const finding of outcome.findings) finding.site = finding.site && sites.get(finding.site)!;
  return shown;
}

/** The outcome, a line for each finding that fails the check, then the excused ones with their reason. */
function renderOutcome(outcome: Outcome): string {
  const { text, notes } = printableAll({ text: outcome.text, notes: outcome.notes });
  const findings = outcome.findings.map(({ message, excuse }) => printableAll({ message, excuse }));
  const open = findings.filter((finding) => finding.excuse === null).map(({ message }) => `  ${message}`);
  const excused = findings
    .filter((finding) => finding.excuse !== null)
    .map(
      ({ message, excuse }) => `  ${excuse!.by === 'baseline' ? 'known' : 'suppressed'}: ${message}: ${excuse!.reason}`,
    );
  return `${[text, ...open, ...excused, ...notes.map((note) => `  note: ${note}`)].join('\n')}\n`;
}
