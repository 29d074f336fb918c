/** Shows a report: as text or JSON on stdout, and in files. */
import { Redaction, redactReport } from '../analysis/redact';
import type { Report } from '../analysis/report';
import type { WasmReport } from '../analysis/wasm-report';
import type { Capture } from '../capture/capture';
import { pageData } from '../page/data';
import { colorsFor } from '../terminal/colors';
import { terminalColumns, writeOutput } from '../terminal/output';
import { printableAll } from '../terminal/printable';
import { progress } from '../terminal/progress';
import { formatDuration } from '../terminal/units';
import { print } from '../terminal/writers';
import { withWasm } from '../wasm/report';
import { withHolders } from '../why/held';
import type { Answer } from '../why/holder';
import { whyReport } from '../why/report';
import { renderHtml } from './html';
import { renderJson } from './json';
import { renderText } from './text';
import { renderWasm } from './wasm';
import { renderWhy } from './why';

export interface ShowOptions {
  json?: string;
  html?: string;
  /** The device of the report. */
  device?: string;
  redactSources?: boolean;
  /** Also show the frames of libraries. */
  allFrames?: boolean;
  /** What holds the tensors, with `--why`. */
  held?: readonly Answer[];
  /** `--why` was given; without `held`, the program left no heap. */
  why?: boolean;
  /** What `run --wasm` found. */
  foundWasm?: WasmReport;
}

/** Prints the report as text, or as JSON with `--json -`, and writes the other outputs. `redaction` replaces names by numbers. */
export function showReport(
  report: Report,
  capture: Capture,
  options: ShowOptions,
  redaction = options.redactSources ? new Redaction() : undefined,
): void {
  const folder = process.cwd();
  const { json, html } = options;
  const whole = options.held === undefined ? report : withHolders(report, options.held);
  const named = redaction === undefined ? whole : redactReport(whole, redaction);
  const { foundWasm: wasm } = options;
  const shown = wasm === undefined ? named : withWasm(named, wasm);
  if (html !== undefined) {
    progress.stage(`writing ${html}`);
    writeOutput(html, renderHtml(pageData(capture, report, { ...options, folder }, redaction), folder));
  }
  progress.end();
  if (json === '-') {
    print(renderJson(shown));
    return;
  }
  if (json !== undefined) writeOutput(json, renderJson(shown));
  const columns = terminalColumns(process.stdout);
  const colors = colorsFor(process.stdout);
  // The sentence about tensors is left out if there is only WebAssembly.
  const onlyWasm = wasm !== undefined && wasm.sites.length > 0 && report.summary.insufficient === 'not-loaded';
  if (!onlyWasm)
    print(
      renderText(printableAll(named), {
        ...{ colors, folder, columns },
        allFrames: options.allFrames === true,
        hasHolders: options.held !== undefined,
        triedWhy: options.why === true,
      }),
    );
  if (wasm !== undefined) print(renderWasm(printableAll(wasm), colors, folder));
  if (options.held !== undefined && redaction === undefined) {
    const held = whyReport(options.held);
    const when = held.afterMs === undefined ? 'at the end' : `after ${formatDuration(held.afterMs)}`;
    print(`\nheld ${when} by\n${renderWhy(printableAll(held), { colors, folder, atEnd: true })}`);
  }
}
