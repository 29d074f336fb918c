/** How text is laid out. */
import type { Colors } from '../terminal/colors';

export interface TextOptions {
  colors: Colors;
  /** Paths below it are shown relative to it. */
  folder: string;
  /** The terminal's width; without it, lines are not wrapped or cut. */
  columns?: number;
  /** Also show the frames of libraries. */
  allFrames?: boolean;
  /** The report is followed by what holds the tensors (`--why`), so that is not the next command. */
  hasHolders?: boolean;
  /** The program ran with `--why`, which found nothing. */
  triedWhy?: boolean;
}
