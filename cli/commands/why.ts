/** `leak-audit why PID|FILE`: what holds the live tensors. */
import * as fs from 'node:fs';
import { Command } from 'commander';
import { withProcess } from '../attach/connection';
import { ExitCode, UsageError } from '../errors/errors';
import { kindOf } from '../files/regular-file';
import { renderWhy } from '../reporters/why';
import { colorsFor } from '../terminal/colors';
import { checkDistinct, checkOutput, writeOutput } from '../terminal/output';
import { jsonText, printable, printableAll } from '../terminal/printable';
import { print, printError } from '../terminal/writers';
import { analyseHeap } from '../why/analyst';
import { askWhy, printPauses } from '../why/ask';
import { answersBeside } from '../why/kept';
import { type WhyReport, whyReport } from '../why/report';

interface Options {
  site?: string;
  json?: string;
  redactSources?: boolean;
}

export function whyCommand(done: (status: number) => void): Command {
  return new Command('why')
    .description('Shows what holds the live tensors of a process: the path from a variable, timer, listener … to them.')
    .argument('<pid|file>', 'process id, capture of `run --why`, or .heapsnapshot file')
    .option('--site <file:line>', 'only tensors made at this line')
    .option('--json <file>', "also write the result as JSON ('-': to stdout, instead of the text)")
    .option('--redact-sources', 'remove names of files, functions, variables and properties')
    .addHelpText(
      'after',
      `
Each thread of the process pauses while V8 writes its heap snapshot, about 1 s
per 100 MB of heap, and V8 needs as much memory again. The process emits a
warning about the pause. Another process reads the snapshot. The snapshot has no
file name while it exists. Lines are known only while the process is recorded
(\`leak-audit run\`, \`attach\`).

Exit status: 0, or 2 if the process or the file cannot be read.

Examples:
  leak-audit why 4711
  leak-audit why 4711 --site src/cache.ts:12
  leak-audit why app.ltna
  leak-audit why Heap.20261122.heapsnapshot --json -`,
    )
    .action(async (given: string, options: Options) => {
      const { json } = options;
      checkDistinct({ 'the file': given, '--json': json });
      checkOutput(json);
      const report = await why(given, options);
      if (json !== '-') {
        const shown = printableAll(report);
        const site = options.site && printable(options.site);
        print(renderWhy(shown, { colors: colorsFor(process.stdout), folder: process.cwd(), site }));
      }
      if (json !== undefined) writeOutput(json, `${jsonText(report, 2)}\n`);
      done(ExitCode.clean);
    });
}

async function why(given: string, { site, redactSources: redact }: Options): Promise<WhyReport> {
  const options = { ...(site === undefined ? {} : { site }), ...(redact ? { redact } : {}) };
  if (!/^\d+$/.test(given)) return whyReport(await ofFile(given, options));
  return withProcess(given, async (connection) => {
    const { answers, silent } = await askWhy(connection, options);
    for (const reason of silent) printError(`leak-audit: ${reason}\n`);
    printPauses(answers, connection.pid);
    return whyReport(answers);
  });
}

async function ofFile(file: string, options: { site?: string; redact?: boolean }) {
  let fd: number;
  try {
    const stat = fs.statSync(file);
    if (!stat.isFile()) throw new UsageError(`${file}: expected a capture or heap snapshot, got ${kindOf(stat)}`);
    fd = fs.openSync(file, 'r');
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new UsageError(`expected a process id or a file, got '${file}', which does not exist`);
    throw new UsageError(`cannot read ${file} (${code ?? error})`);
  }
  try {
    const head = Buffer.alloc(1);
    fs.readSync(fd, head, 0, 1, 0);
    // A heap snapshot is a JSON object; a capture never begins with a brace.
    if (head.toString() !== '{') return answersBeside(file, options);
    if (options.site !== undefined)
      throw new UsageError(
        '--site: a heap snapshot does not contain the lines that made tensors; use `why PID` or `run --why`',
      );
    return [await analyseHeap(fd, undefined, options)];
  } finally {
    fs.closeSync(fd);
  }
}
