/**
 * The shape of a model's source. libtorch's parser and compiler call themselves for every level of nesting, so source that is
 * nested without bound would overflow their stack and end the process. Only depth and length are looked at: not what it says.
 */
import type { Budget } from '../files/limits';
import type { Fail } from './archive';

/** Levels of brackets, and of operators and brackets in one expression. PyTorch's own printer stays far below. */
export const MOST_NESTED = 200;
const MOST_INDENTED = 100;
const MOST_ELIFS = 200;
const MOST_BYTES = 64 * 2 ** 20;

/** A string (of either quotes, also over several lines), a comment, a name, a number, a line's end or one other character. */
const token =
  /[rRbBuUfF]{0,2}(?:'''(?:[^\\]|\\.)*?'''|"""(?:[^\\]|\\.)*?"""|'(?:[^'\\\r\n]|\\(?:\r\n|.))*'|"(?:[^"\\\r\n]|\\(?:\r\n|.))*")|#[^\r\n]*|\\(?:\r\n|\r|\n)|[A-Za-z_]\w*|\d[\w.]*|\r\n|\r|\n|[ \t\f]+|./gs;

const operatorWords = new Set(['and', 'or', 'not', 'if', 'else', 'in', 'is', 'lambda', 'await', 'for']);
const openers = new Set(['(', '[', '{']);
const closers = new Set([')', ']', '}']);

/** The height of the expressions in one bracket: of the part since the last comma, and the highest of those before. */
interface Level {
  height: number;
  highest: number;
}

/** libtorch makes objects of all that it reads: some words of a source are as one object of a pickle. */
const WORDS_OF_OBJECT = 4;

export function examineSource(text: string, fail: Fail, budget?: Budget): void {
  if (text.length > MOST_BYTES) throw fail(`source of more than ${MOST_BYTES} characters`);
  if (text.includes('\0')) throw fail('source with a zero byte');
  try {
    new Examiner(fail, budget).look(text);
  } catch (error) {
    // Of the regular expression: a string of megabytes.
    if (error instanceof RangeError && (error as { code?: string }).code === undefined) throw fail('it is too long');
    throw error;
  }
}

class Examiner {
  readonly #fail: Fail;
  readonly #budget: Budget | undefined;
  #words = 0;
  #levels: Level[] = [{ height: 0, highest: 0 }];
  #indents: number[] = [0];
  /** elifs since the last line as far to the left that is none, by depth of the indentation. */
  #elifs: number[] = [0];
  #atStart = true;
  #indent = 0;

  constructor(fail: Fail, budget: Budget | undefined) {
    this.#fail = fail;
    this.#budget = budget;
  }

  look(text: string): void {
    token.lastIndex = 0;
    for (const [found] of text.matchAll(token)) {
      if (found === '\n' || found === '\r' || found === '\r\n') this.#endLine();
      else if (/^[ \t\f]/.test(found)) {
        if (this.#atStart) this.#indent = found.length;
      } else if (!found.startsWith('#') && !found.startsWith('\\')) this.#see(found);
    }
  }

  #endLine(): void {
    if (this.#levels.length > 1) return; // inside brackets the statement goes on
    this.#levels = [{ height: 0, highest: 0 }];
    this.#atStart = true;
    this.#indent = 0;
  }

  #see(found: string): void {
    if (++this.#words % WORDS_OF_OBJECT === 0) this.#budget?.object();
    if (this.#atStart) this.#beginStatement(found);
    const level = this.#levels[this.#levels.length - 1]!;
    if (openers.has(found)) {
      if (this.#levels.length > MOST_NESTED) throw this.#fail(`brackets nested more than ${MOST_NESTED} deep`);
      this.#levels.push({ height: 0, highest: 0 });
    } else if (closers.has(found)) {
      this.#close();
    } else if (found === ',' || found === ';' || found === ':') {
      level.highest = Math.max(level.highest, level.height);
      level.height = 0;
    } else if (operatorWords.has(found) || /^[^\w'"\s]$/.test(found)) {
      this.#raise(level, 1);
    }
  }

  #close(): void {
    if (this.#levels.length === 1) throw this.#fail('a bracket is closed that was not opened');
    const { height, highest } = this.#levels.pop()!;
    // What was in the bracket is one operand of the expression around it.
    this.#raise(this.#levels[this.#levels.length - 1]!, Math.max(height, highest) + 1);
  }

  #raise(level: Level, by: number): void {
    level.height += by;
    if (level.height > 2 * MOST_NESTED) throw this.#fail(`an expression nested more than ${2 * MOST_NESTED} deep`);
  }

  #beginStatement(first: string): void {
    this.#atStart = false;
    while (this.#indents.length > 1 && this.#indent < this.#indents[this.#indents.length - 1]!) {
      this.#indents.pop();
      this.#elifs.pop();
    }
    if (this.#indent > this.#indents[this.#indents.length - 1]!) {
      this.#indents.push(this.#indent);
      this.#elifs.push(0);
      if (this.#indents.length > MOST_INDENTED) throw this.#fail(`blocks nested more than ${MOST_INDENTED} deep`);
    }
    const at = this.#elifs.length - 1;
    this.#elifs[at] = first === 'elif' ? this.#elifs[at]! + 1 : 0;
    if (this.#elifs[at]! > MOST_ELIFS) throw this.#fail(`more than ${MOST_ELIFS} branches of one if`);
  }
}
