/** `leak-audit export FILE`: converts a capture to the formats of other tools. */
import { Command, Option } from 'commander';
import { analyse } from '../analysis/analyse';
import { checkDevice } from '../analysis/device';
import { withExactFigures } from '../analysis/exact';
import { Redaction, redactReport, redactStacks } from '../analysis/redact';
import { STACK_VALUES, type StackValue, stackTotals } from '../analysis/stacks';
import { loadCapture } from '../capture/load';
import { ExitCode, UsageError } from '../errors/errors';
import { renderCollapsed } from '../exporters/collapsed';
import { renderCsv } from '../exporters/csv';
import { renderPprof } from '../exporters/pprof';
import { renderSpeedscope } from '../exporters/speedscope';
import { checkDistinct, checkWritable, writeOutput } from '../terminal/output';
import { progress, showJudged } from '../terminal/progress';

interface Options {
  pprof?: string;
  speedscope?: string;
  collapsed?: string;
  csv?: string;
  value: StackValue;
  device?: string;
  redactSources?: boolean;
}

const FORMATS = ['pprof', 'speedscope', 'collapsed', 'csv'] as const;

export function exportCommand(done: (status: number) => void): Command {
  return new Command('export')
    .description('Converts a capture to the formats of other tools.')
    .argument('<file>', 'capture file')
    .option('--pprof <out>', "pprof's profile.proto, gzipped: live, allocated and grown tensors and bytes by stack")
    .option('--speedscope <out>', 'speedscope.app: live, allocated and grown bytes by stack')
    .option('--collapsed <out>', 'collapsed stacks with bytes, for flamegraph.pl and inferno')
    .option('--csv <out>', 'table of sites')
    .addOption(
      new Option('--value <value>', 'value for --collapsed; the other formats contain all three')
        .choices(STACK_VALUES)
        .default('live'),
    )
    .option('--device <name>', 'only tensors of this device, e.g. cpu, cuda, cuda:1')
    .option('--redact-sources', 'remove names of files and functions')
    .addHelpText(
      'after',
      `
An <out> of '-' is stdout. Growth is what is live at the end minus what was live
after the first quarter of the capture. Several formats can be written at once.

Examples:
  leak-audit export app.ltna --pprof app.pb.gz
  go tool pprof -http=: -sample_index=growth_space app.pb.gz
  leak-audit export app.ltna --speedscope app.json  # for speedscope.app
  leak-audit export app.ltna --collapsed - | flamegraph.pl > live.svg`,
    )
    .action((file: string, options: Options) => {
      exportAll(file, options);
      done(ExitCode.clean);
    });
}

function exportAll(file: string, options: Options): void {
  const outputs = FORMATS.flatMap((format) => options[format] ?? []);
  if (outputs.length === 0)
    throw new UsageError('no format given: expected --pprof, --speedscope, --collapsed or --csv OUT');
  checkDistinct({
    'the capture': file,
    ...Object.fromEntries(FORMATS.map((format) => [`--${format}`, options[format]])),
  });
  for (const output of outputs) checkWritable(output);

  const loaded = loadCapture(file);
  const { capture } = loaded;
  checkDevice([capture], options.device);
  let report = withExactFigures(analyse(capture, { device: options.device, seen: showJudged }), loaded);
  let stacks = stackTotals(capture, { device: options.device });
  if (options.redactSources) {
    const redaction = new Redaction();
    report = redactReport(report, redaction);
    stacks = redactStacks(stacks, redaction);
  }
  progress.stage('writing');
  const write = (output: string | undefined, render: () => string | Buffer) => {
    if (output !== undefined) writeOutput(output, render());
  };
  write(options.pprof, () => renderPprof(stacks, report.summary));
  write(options.speedscope, () => renderSpeedscope(stacks, report.summary));
  write(options.collapsed, () => renderCollapsed(stacks, options.value));
  write(options.csv, () => renderCsv(report.sites));
  progress.end();
}
