/** What an export format is, and what it is made from. */
import type { Report } from '../analysis/report';
import type { StackTotals, StackValue } from '../analysis/stacks';

export interface Exported {
  report: Report;
  stacks: StackTotals[];
  /** For formats with a single value per stack. */
  value: StackValue;
}

export interface Format {
  /** Of its option, one word: `csv` for `--csv`. */
  name: string;
  /** For `--help`. */
  description: string;
  render(exported: Exported): string | Buffer;
}
