/** `leak-audit check FILE`: the verdict of a capture as an exit status, for CI. */
import { Command } from 'commander';
import { analyse } from '../analysis';
import { readCapture } from '../capture/reader';
import { ExitCode } from '../errors';
import type { Report } from '../report';
import { position } from '../reporters/text';
import { formatBytes, formatCount, formatDuration, parseBytes, parseCount, parseDuration } from '../units';

interface Options {
  warmup?: number;
  maxLive?: number;
  maxAge?: number;
}

export function checkCommand(done: (status: number) => void): Command {
  return new Command('check')
    .description('Judges a capture: exits 0 clean, 1 leak, 2 usage, 3 too little data, 4 events were lost.')
    .argument('<file>', 'the capture')
    .option(
      '--warmup <rounds>',
      'rounds (intervals of the capture) to leave out; default: a quarter, at least 8',
      parseCount,
    )
    .option('--max-live <bytes>', 'also fail when more is alive at the end, e.g. 64MiB', parseBytes)
    .option('--max-age <duration>', 'also fail when a living tensor is older, e.g. 60s', parseDuration)
    .action((file: string, options: Options) => {
      const report = analyse(readCapture(file), { warmup: options.warmup });
      const findings = findLeaks(report, options);
      const { status, text } = conclude(report, findings);
      process.stdout.write(`${[text, ...findings].join('\n')}\n`);
      done(status);
    });
}

/** One line per reason to fail. */
export function findLeaks(report: Report, options: Options): string[] {
  const folder = process.cwd();
  const findings = report.sites
    .filter((site) => site.verdict === 'leak')
    .map(
      (site) =>
        `  ${position(site, folder)} grows by ${formatBytes(site.growthBytesPerMinute)} and ` +
        `${formatCount(site.growthTensorsPerMinute)} tensors per minute`,
    );
  if (options.maxLive !== undefined && report.summary.liveBytes > options.maxLive) {
    findings.push(`  ${formatBytes(report.summary.liveBytes)} are alive, more than ${formatBytes(options.maxLive)}`);
  }
  for (const site of options.maxAge === undefined ? [] : report.sites) {
    if (site.oldestMs === null || site.oldestMs <= options.maxAge!) continue;
    findings.push(`  ${position(site, folder)} holds a tensor that is ${formatDuration(site.oldestMs)} old`);
  }
  return findings;
}

/** Lost events never pass as clean, but a leak that was seen all the same is one. */
export function conclude(report: Report, findings: string[]): { status: number; text: string } {
  const { summary } = report;
  if (findings.length > 0) return { status: ExitCode.leak, text: 'leak' };
  if (summary.lostEvents > 0) {
    return { status: ExitCode.lostEvents, text: `lost: ${formatCount(summary.lostEvents)} events are missing` };
  }
  if (report.verdict === 'insufficient' || summary.rounds === 0) {
    return { status: ExitCode.insufficient, text: `insufficient: only ${summary.rounds} rounds` };
  }
  if (summary.mode === 'counters' && summary.liveTensors > 0) {
    return { status: ExitCode.insufficient, text: 'insufficient: only totals were recorded (--mode counters)' };
  }
  return { status: ExitCode.clean, text: 'clean' };
}
