/** `leak-audit diff A B`: compares two captures by site. */
import { Command } from 'commander';
import { checkDevice } from '../analysis/device';
import { diffReports } from '../analysis/diff';
import { reportOn } from '../analysis/loaded';
import { Redaction, redactReport } from '../analysis/redact';
import type { Report } from '../analysis/report';
import { loadCapture } from '../capture/load';
import { ExitCode } from '../errors/errors';
import { renderDiff } from '../reporters/diff';
import { colorsFor } from '../terminal/colors';
import { checkDistinct, checkOutput, terminalColumns, writeOutput } from '../terminal/output';
import { jsonText, printableAll } from '../terminal/printable';
import { progress, showJudged } from '../terminal/progress';
import { print } from '../terminal/writers';

interface Options {
  normalize?: boolean;
  json?: string;
  device?: string;
  redactSources?: boolean;
}

export function diffCommand(done: (status: number) => void): Command {
  return new Command('diff')
    .description('Compares two captures: sites that grew, shrank, are new or gone.')
    .argument('<a>', 'first capture, e.g. of the last release')
    .argument('<b>', 'second capture')
    .option('--normalize', "scale B's figures by the ratio of tensors made, for runs of different length or load")
    .option('--json <file>', "also write the difference as JSON ('-': to stdout, instead of the text)")
    .option('--device <name>', 'only tensors of this device, e.g. cpu, cuda, cuda:1')
    .option('--redact-sources', 'remove the names of files, functions, labels and marks')
    .addHelpText(
      'after',
      `
Sites are matched by file, line and column; a moved line is matched by its
function if that is unambiguous. A site grew or shrank if its live bytes changed
by at least 4 KiB, or its tensors by at least 8, and by at least 5%.
The exit status is 0 regardless of the differences.

Examples:
  leak-audit diff last-release.ltna this-release.ltna
  leak-audit diff --normalize hour.ltna day.ltna`,
    )
    .action((a: string, b: string, options: Options) => {
      const { json, device } = options;
      for (const file of [a, b]) checkDistinct({ [file]: file, '--json': json });
      checkOutput(json);
      const redaction = new Redaction(); // shared, so that a site has the same number in both
      const loaded = [loadCapture(a), loadCapture(b)];
      checkDevice(
        loaded.map(({ capture }) => capture),
        device,
      );
      const [before, after] = loaded.map((one): Report => {
        const report = reportOn(one, { device, seen: showJudged });
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
