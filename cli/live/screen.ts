/** The full-screen view of `live`. Restores the terminal however the program ends. */
import { CLEAR_LINE, writeScreen, writeScreenNow } from '../terminal/writers';

const ENTER = '\x1b[?1049h\x1b[?25l';
const LEAVE = '\x1b[?25h\x1b[?1049l';
const HOME = '\x1b[H';
const CLEAR_BELOW = '\x1b[J';

export class Screen {
  private open = true;
  private readonly atExit = () => this.close();
  private readonly keys = (text: Buffer) => {
    for (const key of text.toString()) this.onKey(key);
  };

  /** `onKey` also receives Ctrl-C, as the character of a terminal in raw mode. */
  constructor(
    private readonly onKey: (key: string) => void,
    private readonly onResize: () => void,
  ) {
    process.on('exit', this.atExit);
    writeScreen(ENTER);
    process.stdout.on('resize', this.onResize);
    if (!process.stdin.isTTY) return;
    process.stdin.setRawMode(true);
    process.stdin.on('data', this.keys);
    process.stdin.resume();
  }

  show(lines: string[]): void {
    // Each line is cleared first: after a line as wide as the terminal, the cursor is still on its last character.
    if (this.open) writeScreen(HOME + CLEAR_LINE, lines, CLEAR_BELOW);
  }

  close(): void {
    if (!this.open) return;
    this.open = false;
    process.off('exit', this.atExit);
    process.stdout.off('resize', this.onResize);
    writeScreenNow(LEAVE);
    if (!process.stdin.isTTY) return;
    process.stdin.off('data', this.keys);
    process.stdin.setRawMode(false);
    process.stdin.pause();
  }
}
