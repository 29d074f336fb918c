/** `leak-audit diff A B`: what a second capture holds more, and less, than a first. */
import { Command } from 'commander';
import { analyse } from '../analysis';
import { colorsFor } from '../colors';
import { checkDevice } from '../device';
import { diffReports } from '../diff';
import { ExitCode } from '../errors';
import { exactly, loadCapture } from '../load_capture';
import { checkDistinct, checkWritable, terminalColumns, writeOutput } from '../output';
import { jsonText, printableAll } from '../printable';
import { progress, showJudged } from '../progress';
import { Redaction, redactReport } from '../redact';
import type { Report } from '../report';
import { renderDiff } from '../reporters/diff';
import { print } from '../writers';

interface Options {
  normalize?: boolean;
  json?: string;
  device?: string;
  redactSources?: boolean;
}

export function diffCommand(done: (status: number) => void): Command {
  return new Command('diff')
    .description('Compares two captures: sites that grew, shrank, are new or gone.')
    .argument('<a>', 'the first capture, e.g. of the last release')
    .argument('<b>', 'the second capture')
    .option('--normalize', "multiply B's figures by the ratio of tensors made, for runs of different length or load")
    .option('--json <file>', "also write the difference as JSON ('-': to stdout, instead of the text)")
    .option('--device <name>', 'only tensors of this device, e.g. cpu, cuda, cuda:1')
    .option('--redact-sources', 'without names of files and functions')
    .addHelpText(
      'after',
      `
A site is the same in both when file, line and column are, or when the line
moved and its function is the only one of its name that did. It grew or shrank
when its living bytes changed by 4 KiB, or its tensors by 8, and by 5%.
Exits with 0 whatever it finds.

Examples:
  leak-audit diff last-release.ltna this-release.ltna
  leak-audit diff --normalize hour.ltna day.ltna`,
    )
    .action((a: string, b: string, options: Options) => {
      const { json, device } = options;
      for (const file of [a, b]) checkDistinct({ [file]: file, '--json': json });
      checkWritable(json);
      const redaction = new Redaction(); // one for both: the same site has the same number
      const loaded = [loadCapture(a), loadCapture(b)];
      checkDevice(
        loaded.map(({ capture }) => capture),
        device,
      );
      const [before, after] = loaded.map((one): Report => {
        const report = exactly(analyse(one.capture, { device, seen: showJudged }), one);
        return options.redactSources ? redactReport(report, redaction) : report;
      });
      const diff = diffReports(before!, after!, options);
      progress.end();
      if (json !== undefined) writeOutput(json, `${jsonText(diff, 2)}\n`);
      if (json !== '-') {
        const columns = terminalColumns(process.stdout);
        print(renderDiff(printableAll(diff), { colors: colorsFor(process.stdout), folder: process.cwd(), columns }));
      }
      done(ExitCode.clean);
    });
}
