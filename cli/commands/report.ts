/** `leak-audit report FILE …`: prints the report on a capture, or on several as one. */
import { Command } from 'commander';
import { checkDevice } from '../analysis/device';
import { reportOn } from '../analysis/loaded';
import { loadMerged, withProcesses } from '../analysis/merged';
import { Redaction, redactReport } from '../analysis/redact';
import { loadCapture } from '../capture/load';
import { ExitCode } from '../errors/errors';
import { renderLabels } from '../reporters/labels';
import { renderProcesses } from '../reporters/merged';
import { showReport } from '../reporters/show';
import { colorsFor } from '../terminal/colors';
import { checkDistinct, checkOutput } from '../terminal/output';
import { printableAll } from '../terminal/printable';
import { showJudged } from '../terminal/progress';
import { parseDuration } from '../terminal/units';
import { print } from '../terminal/writers';
import { readBeside } from '../why/kept';

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
    .argument('<file...>', 'capture file; several are merged into one report')
    .option('--json <file>', "also write the report as JSON ('-': to stdout, instead of the text)")
    .option('--html <file>', 'also write the report as one offline page')
    .option('--min-age <duration>', 'only sites whose oldest live tensor is at least this old, e.g. 60s', parseDuration)
    .option('--device <name>', 'only tensors of this device, e.g. cpu, cuda, cuda:1')
    .option('--by <label>', 'also show what was made and is held per value of a label (torch.audit.label)')
    .option('--all-frames', 'also show the frames of libraries in stacks')
    .option(
      '--redact-sources',
      'remove the names of files, functions, labels and marks, and the command, to share the output',
    )
    .addHelpText(
      'after',
      `
Leaks come first; docs/leak-audit.md explains the verdicts.
Several captures must be of the same mode. Their rounds are aligned by the time
of day, and each site says in which processes it is.
The exit status is 0 regardless of the verdict; for CI, use \`leak-audit check\`.

Examples:
  leak-audit report app.ltna
  leak-audit report app.ltna --html app.html --by route
  leak-audit report app.ltna --json - | jq .verdict
  leak-audit report node-1.ltna node-2.ltna node-3.ltna`,
    )
    .action((files: string[], options: Options) => {
      const { html, json, device } = options;
      const named = files.map((file, i) => [files.length === 1 ? 'the capture' : `capture ${i + 1}`, file]);
      checkDistinct({ ...Object.fromEntries(named), '--html': html, '--json': json });
      checkOutput(html);
      checkOutput(json);
      const merged = files.length > 1 ? loadMerged(files) : undefined;
      const loaded = merged ?? loadCapture(files[0]!);
      const { capture } = loaded;
      checkDevice([capture], device);
      const redaction = options.redactSources ? new Redaction() : undefined;
      const byLabel = options.by && renderLabels(capture, options.by, colorsFor(process.stdout), redaction);
      const exact = reportOn(loaded, { minAgeMs: options.minAge, device, seen: showJudged });
      const whole = merged === undefined ? exact : withProcesses(exact, merged, redaction);
      // What holds the tensors is known per process, so it is not shown for several.
      const held = merged === undefined ? readBeside(files[0]!) : undefined;
      showReport(whole, capture, held === undefined ? options : { ...options, held }, redaction);
      if (merged !== undefined && json !== '-') {
        const shown = printableAll(redaction === undefined ? whole : redactReport(whole, redaction));
        print(renderProcesses(shown, colorsFor(process.stdout), process.cwd()));
      }
      if (byLabel && options.json !== '-') print(byLabel);
      done(ExitCode.clean);
    });
}
