/** Reports that can be shown to others: no path, no name of a function, no command. Lines and columns stay. */
import type { Frame } from './capture/capture';
import type { Report, SiteReport } from './report';
import type { StackTotals } from './stacks';

const REDACTED = '(redacted)';

/** Gives each name a number, the same one wherever it stands. */
export class Redaction {
  private readonly files = new Map<string, string>();
  private readonly functions = new Map<string, string>();
  private readonly labels = new Map<string, string>();
  private readonly marks = new Map<string, string>();

  frame<T extends Frame>(frame: T): T {
    if (frame.line === 0) return frame; // our own words: there is no such file
    return {
      ...frame,
      file: numbered(this.files, frame.file, 'file'),
      function: frame.function === '' ? '' : numbered(this.functions, `${frame.file}\0${frame.function}`, 'function'),
    };
  }

  /** What a person called it. */
  mark(name: string): string {
    return numbered(this.marks, name, 'mark');
  }

  /** Values of labels are routes, which are paths too. */
  label(value: string): string {
    return numbered(this.labels, value, 'value');
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
  const site = (one: SiteReport) => ({
    ...redaction.frame(one),
    stack: one.stack.map((frame) => redaction.frame(frame)),
  });
  const { summary } = report;
  return {
    ...report,
    summary: { ...summary, command: summary.command === '' ? '' : REDACTED },
    sites: report.sites.map(site),
    marks: report.marks.map((mark) => ({ ...mark, name: redaction.mark(mark.name) })),
  };
}

export function redactStacks(stacks: StackTotals[], redaction: Redaction): StackTotals[] {
  return stacks.map((stack) => ({ ...stack, frames: stack.frames.map((frame) => redaction.frame(frame)) }));
}
