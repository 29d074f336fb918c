/** `leak-audit export FILE`: converts a capture to the formats of other tools. */
import { Command, Option } from 'commander';
import { checkDevice } from '../analysis/device';
import { reportOn } from '../analysis/loaded';
import { Redaction, redactReport, redactStacks } from '../analysis/redact';
import { STACK_VALUES, type StackValue, stackTotals } from '../analysis/stacks';
import { loadCapture } from '../capture/load';
import { ExitCode, UsageError } from '../errors/errors';
import { formats } from '../exporters';
import { checkDistinct, checkOutput, writeOutput } from '../terminal/output';
import { progress, showJudged } from '../terminal/progress';

interface Options {
  value: StackValue;
  device?: string;
  redactSources?: boolean;
}

/** The file of each given format. */
const filesOf = (options: Options) =>
  formats.map((format) => ({ format, out: (options as unknown as Record<string, string | undefined>)[format.name] }));

export function exportCommand(done: (status: number) => void): Command {
  const command = new Command('export')
    .description('Converts a capture to the formats of other tools.')
    .argument('<file>', 'capture file');
  for (const { name, description } of formats) command.option(`--${name} <out>`, description);
  return command
    .addOption(
      new Option('--value <value>', 'value for --collapsed; the other formats contain all three')
        .choices(STACK_VALUES)
        .default('live'),
    )
    .option('--device <name>', 'only tensors of this device, e.g. cpu, cuda, cuda:1')
    .option('--redact-sources', 'remove the names of files, functions, labels and marks')
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
  const files = filesOf(options);
  if (files.every(({ out }) => out === undefined)) {
    const names = formats.map(({ name }) => `--${name}`);
    throw new UsageError(`no format given: expected ${names.slice(0, -1).join(', ')} or ${names.at(-1)} OUT`);
  }
  checkDistinct({
    'the capture': file,
    ...Object.fromEntries(files.map(({ format, out }) => [`--${format.name}`, out])),
  });
  for (const { out } of files) checkOutput(out);

  const loaded = loadCapture(file);
  const { capture } = loaded;
  checkDevice([capture], options.device);
  let report = reportOn(loaded, { device: options.device, seen: showJudged });
  let stacks = stackTotals(capture, { device: options.device });
  if (options.redactSources) {
    const redaction = new Redaction();
    report = redactReport(report, redaction);
    stacks = redactStacks(stacks, redaction);
  }
  progress.stage('writing');
  for (const { format, out } of files)
    if (out !== undefined) writeOutput(out, format.render({ report, stacks, value: options.value }));
  progress.end();
}
