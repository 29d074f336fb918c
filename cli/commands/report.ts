/** `leak-audit report FILE`: the report of a capture. */
import { Command } from 'commander';
import { analyse } from '../analysis';
import { readCapture } from '../capture/reader';
import { ExitCode } from '../errors';
import { checkWritable, showReport } from '../output';
import { parseDuration } from '../units';

interface Options {
  json?: string;
  html?: string;
  minAge?: number;
  device?: string;
}

export function reportCommand(done: (status: number) => void): Command {
  return new Command('report')
    .description('Prints the report of a capture that `leak-audit run -o FILE` wrote.')
    .argument('<file>', 'the capture')
    .option('--json <file>', "also write the report as JSON ('-': to stdout, instead of the text)")
    .option('--html <file>', 'also write the report as one offline page')
    .option(
      '--min-age <duration>',
      'only sites whose oldest living tensor is at least this old, e.g. 60s',
      parseDuration,
    )
    .option('--device <name>', 'only tensors of this device, e.g. cpu, cuda, cuda:1')
    .action((file: string, options: Options) => {
      checkWritable(options.html);
      checkWritable(options.json);
      const report = analyse(readCapture(file), { minAgeMs: options.minAge, device: options.device });
      showReport(report, options);
      done(ExitCode.clean);
    });
}
