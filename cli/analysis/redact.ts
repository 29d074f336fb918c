/**
 * Removes the program's text from reports that are shared: paths, names of functions, labels and marks, and the command.
 * Lines, columns and figures remain.
 */
import type { LabelTotals } from '../capture/by-label';
import type { Frame } from '../capture/records';
import type { Cause, Report, SiteReport } from './report';
import { UNLOCATED } from './sites';
import type { StackTotals } from './stacks';

const REDACTED = '(redacted)';
/** A program's file can have such a name too, but not without a line. */
const OWN_WORDS: ReadonlySet<string> = new Set(Object.values(UNLOCATED));
/** The reasons for a capture's end that leak-audit itself writes. */
const OWN_ENDS = new Set(['exit', 'detached', 'abandoned', 'killed', 'no tensors']);

/** Replaces each name by a number, the same everywhere. */
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

  /** The name of a mark. */
  mark(name: string): string {
    return numbered(this.marks, name, 'mark');
  }

  /** The name of a variable, a property, a class or an event. */
  word(name: string): string {
    return numbered(this.words, name, 'name');
  }

  /** The value of a label, for example a route. */
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
    ...(one.cause === undefined ? {} : { cause: redactCause(one.cause, redaction) }),
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

function redactCause({ openedAt: _opened, ...cause }: Cause, redaction: Redaction): Cause {
  const { worker, place } = cause;
  return {
    ...cause,
    ...(worker === undefined ? {} : { worker: { ...worker, file: redaction.file(worker.file) } }),
    ...(place === undefined ? {} : { place: redaction.frame(place) }),
  };
}

export function redactStacks(stacks: StackTotals[], redaction: Redaction): StackTotals[] {
  return stacks.map((stack) => ({ ...stack, frames: stack.frames.map((frame) => redaction.frame(frame)) }));
}
