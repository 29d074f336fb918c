/**
 * Reports that can be shown to others: no text of the program's stays, no path, no name of a function, a label or a mark,
 * no command. Lines and columns stay, and figures.
 */
import type { LabelTotals } from './capture/by-label';
import type { Frame } from './capture/capture';
import type { Report, SiteReport } from './report';
import type { StackTotals } from './stacks';

const REDACTED = '(redacted)';
/** Frames without a line that are our own words; a program can name a frame like any other text. */
const OWN_WORDS = new Set(['(no JavaScript stack)', '(before attach)', '(seen by no tensor)']);
/** How a capture ends, in our own words. */
const OWN_ENDS = new Set(['exit', 'detached', 'abandoned', 'killed', 'no tensors']);

/** Gives each name a number, the same one wherever it stands. */
export class Redaction {
  private readonly files = new Map<string, string>();
  private readonly functions = new Map<string, string>();
  private readonly labels = new Map<string, string>();
  private readonly labelNames = new Map<string, string>();
  private readonly marks = new Map<string, string>();
  private readonly words = new Map<string, string>();

  frame<T extends Frame>(frame: T): T {
    if (frame.line === 0 && frame.function === '' && OWN_WORDS.has(frame.file)) return frame;
    return {
      ...frame,
      file: this.file(frame.file),
      function: frame.function === '' ? '' : numbered(this.functions, `${frame.file}\0${frame.function}`, 'function'),
    };
  }

  file(name: string): string {
    return numbered(this.files, name, 'file');
  }

  /** What a person called it. */
  mark(name: string): string {
    return numbered(this.marks, name, 'mark');
  }

  /** Of a variable, a property, a class, an event. */
  word(name: string): string {
    return numbered(this.words, name, 'name');
  }

  /** Values of labels are routes, which are paths too. */
  label(value: string): string {
    return numbered(this.labels, value, 'value');
  }

  labelName(name: string): string {
    return numbered(this.labelNames, name, 'label');
  }

  totals(rows: LabelTotals[]): LabelTotals[] {
    return rows.map((row) => (row.value === undefined ? row : { ...row, value: this.label(row.value) }));
  }
}

function numbered(names: Map<string, string>, name: string, kind: string): string {
  let known = names.get(name);
  if (known === undefined) {
    known = `${kind}-${names.size + 1}`;
    names.set(name, known);
  }
  return known;
}

export function redactReport(report: Report, redaction: Redaction): Report {
  const site = ({ heldBy: _names, ...one }: SiteReport) => ({
    ...redaction.frame(one),
    stack: one.stack.map((frame) => redaction.frame(frame)),
    graph: one.graph === null ? null : { ...one.graph, variable: '' },
  });
  const { summary } = report;
  return {
    ...report,
    summary: {
      ...summary,
      command: summary.command === '' ? '' : REDACTED,
      ended: OWN_ENDS.has(summary.ended) ? summary.ended : REDACTED,
    },
    sites: report.sites.map(site),
    marks: report.marks.map((mark) => ({ ...mark, name: redaction.mark(mark.name) })),
  };
}

export function redactStacks(stacks: StackTotals[], redaction: Redaction): StackTotals[] {
  return stacks.map((stack) => ({ ...stack, frames: stack.frames.map((frame) => redaction.frame(frame)) }));
}
