/** `leak-audit report FILE`: prints the report on a capture. */
import { Command } from 'commander';
import { analyse } from '../analysis';
import { colorsFor } from '../colors';
import { checkDevice } from '../device';
import { ExitCode } from '../errors';
import { loadCapture, withExactFigures } from '../load_capture';
import { checkDistinct, checkWritable, showReport } from '../output';
import { showJudged } from '../progress';
import { Redaction } from '../redact';
import { renderLabels } from '../reporters/labels';
import { parseDuration } from '../units';
import { readBeside } from '../why/kept';
import { print } from '../writers';

interface Options {
  allFrames?: boolean;
  json?: string;
  html?: string;
  minAge?: number;
  device?: string;
  by?: string;
  redactSources?: boolean;
}

export function reportCommand(done: (status: number) => void): Command {
  return new Command('report')
    .description('Prints the report on a capture of `leak-audit run -o FILE` or `attach`.')
    .argument('<file>', 'capture file')
    .option('--json <file>', "also write the report as JSON ('-': to stdout, instead of the text)")
    .option('--html <file>', 'also write the report as one offline page')
    .option('--min-age <duration>', 'only sites whose oldest live tensor is at least this old, e.g. 60s', parseDuration)
    .option('--device <name>', 'only tensors of this device, e.g. cpu, cuda, cuda:1')
    .option('--by <label>', 'also show what was made and is held per value of a label (torch.audit.label)')
    .option('--all-frames', 'also show the frames of libraries in stacks')
    .option('--redact-sources', 'remove names of files and functions, to share the output')
    .addHelpText(
      'after',
      `
Leaks come first; docs/leak-audit.md explains the verdicts.
The exit status is 0 regardless of the verdict; for CI, use \`leak-audit check\`.

Examples:
  leak-audit report app.ltna
  leak-audit report app.ltna --html app.html --by route
  leak-audit report app.ltna --json - | jq .verdict`,
    )
    .action((file: string, options: Options) => {
      const { html, json, device } = options;
      checkDistinct({ 'the capture': file, '--html': html, '--json': json });
      checkWritable(html);
      checkWritable(json);
      const loaded = loadCapture(file);
      const { capture } = loaded;
      checkDevice([capture], device);
      const redaction = options.redactSources ? new Redaction() : undefined;
      const byLabel = options.by && renderLabels(capture, options.by, colorsFor(process.stdout), redaction);
      const report = analyse(capture, { minAgeMs: options.minAge, device, seen: showJudged });
      const held = readBeside(file);
      showReport(
        withExactFigures(report, loaded),
        capture,
        held === undefined ? options : { ...options, held },
        redaction,
      );
      if (byLabel && options.json !== '-') print(byLabel);
      done(ExitCode.clean);
    });
}
