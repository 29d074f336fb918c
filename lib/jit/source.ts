/**
 * Limits the nesting of a model's source. libtorch's parser and compiler are recursive, so unbounded nesting would overflow
 * their stack and end the process. Of the meaning, only what libtorch reads without looking whether it is there is checked: the
 * types and values in the body of a class (libtorch 1.13 ends the process for `x = 1`).
 */
import type { Budget } from '../files/limits';
import { quote } from '../files/names';
import type { Fail } from './archive';

/** Levels of brackets; twice as many levels of operators and brackets in an expression. PyTorch's printer stays far below. */
export const MAX_NESTING = 200;
const MAX_INDENTS = 100;
const MAX_ELIFS = 200;
const MAX_BYTES = 64 * 2 ** 20;

/** A string (with any quotes, also multi-line), a comment, a name, a number, a newline or one other character. */
const token =
  /[rRbBuUfF]{0,2}(?:'''(?:[^\\]|\\.)*?'''|"""(?:[^\\]|\\.)*?"""|'(?:[^'\\\r\n]|\\(?:\r\n|.))*'|"(?:[^"\\\r\n]|\\(?:\r\n|.))*")|#[^\r\n]*|\\(?:\r\n|\r|\n)|[A-Za-z_]\w*|\d[\w.]*|\r\n|\r|\n|[ \t\f]+|./gs;

const operatorWords = new Set(['and', 'or', 'not', 'if', 'else', 'in', 'is', 'lambda', 'await', 'for']);
const openers = new Set(['(', '[', '{']);
const closers = new Set([')', ']', '}']);

/** The nesting of the expressions in a bracket: `height` since the last comma, `highest` of the earlier ones. */
interface Level {
  height: number;
  highest: number;
}

/** What the statements of a block are. */
type Block = 'class' | 'enum' | 'other';

/** Names in the body of a class whose values libtorch reads; they have no types. */
const LISTS = new Set([
  '__annotations__',
  '__parameters__',
  '__buffers__',
  '__forward_pre_hooks__',
  '__forward_hooks__',
]);

/** A statement: its first word, the block that it is in, and what it has outside of brackets. */
interface Statement {
  readonly first: string;
  readonly block: Block;
  /** The first tokens of a class, and those of the value in an enum. */
  readonly words: string[];
  isEnum: boolean;
  isSubscripted: boolean;
  hasType: boolean;
  hasValue: boolean;
}

/** Values of an enum as the source has them; null if libtorch might read them, or the class, otherwise. */
export type EnumValues = (bigint | string | { readonly float: number })[] | null;

/** The values of the enums of a source by the name of the class. */
export type Enums = Map<string, EnumValues>;

/** The value of an enum from its tokens. Escapes are not read, because PyTorch's printer and libtorch differ in them. */
function enumValue(tokens: readonly string[]): NonNullable<EnumValues>[number] | undefined {
  const text = tokens.join('');
  if (/^-?(?:0|[1-9]\d*)$/.test(text)) return BigInt(text); // 010 is octal for libtorch
  if (/^-?\d+(?=[.e])\.?\d*(?:e[+-]?\d+)?$/.test(text) && Number.isFinite(Number(text))) return { float: Number(text) };
  return tokens.length === 1 && /^"[^"\\]*"$/.test(text) ? text.slice(1, -1) : undefined;
}

/** libtorch makes objects of tokens: this many tokens are charged as one object of a pickle. */
const TOKENS_PER_OBJECT = 4;

/** More than `class Color(Enum):` and `-1e+30` have. */
const MAX_WORDS = 8;

/** Returns the enums that the source defines. */
export function examineSource(text: string, fail: Fail, budget?: Budget): Enums {
  if (text.length > MAX_BYTES) throw fail(`source of more than ${MAX_BYTES} characters`);
  if (text.includes('\0')) throw fail('source with a zero byte');
  try {
    const examiner = new Examiner(fail, budget);
    examiner.look(text);
    return examiner.enums;
  } catch (error) {
    // The regular expression overflowed its stack: a string of megabytes.
    if (error instanceof RangeError && (error as { code?: string }).code === undefined)
      throw fail('the source has too long a string');
    throw error;
  }
}

class Examiner {
  readonly enums: Enums = new Map();
  readonly #classes = new Set<string>();
  /** The class whose body is read. */
  #class = '';
  readonly #fail: Fail;
  readonly #budget: Budget | undefined;
  #tokens = 0;
  #levels: Level[] = [{ height: 0, highest: 0 }];
  #indents: number[] = [0];
  /** Consecutive elifs at each level of indentation. */
  #elifs: number[] = [0];
  /** What each level of indentation has statements of. */
  #blocks: Block[] = ['other'];
  #statement: Statement | undefined;
  /** Whether the statement is in `enums`: empty lines end it again. */
  #isNoted = true;
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
      } else if (found === '\\') {
        throw this.#fail('a backslash outside of strings');
      } else if (!found.startsWith('#') && !found.startsWith('\\')) this.#see(found);
    }
    this.#endStatement();
  }

  #endLine(): void {
    if (this.#levels.length > 1) return; // the statement continues inside brackets
    this.#levels = [{ height: 0, highest: 0 }];
    this.#endStatement();
    this.#atStart = true;
    this.#indent = 0;
  }

  /** The parts of a class that have neither a type nor a value, where libtorch takes it. */
  #endStatement(): void {
    const { first, block, words = [], isEnum, isSubscripted, hasType, hasValue } = this.#statement ?? {};
    if (!this.#isNoted) {
      if (first === 'class') this.#endClass(words, isEnum === true);
      else if (block === 'enum') this.#endEnumValue(words, hasType === true);
    }
    this.#isNoted = true;
    if (first === undefined || block === 'other' || !(hasType || hasValue) || first === 'def' || first === 'class')
      return;
    const needsValue = block === 'enum' || isSubscripted || LISTS.has(first);
    if (needsValue ? !hasValue : !hasType)
      throw this.#fail(`${quote(first)} in a class has no ${needsValue ? 'value' : 'type'}`);
  }

  /** A class that the source has twice could be either for libtorch. */
  #endClass(words: readonly string[], isEnum: boolean): void {
    this.#class = words[1] ?? '';
    const isPlain = words.join(' ') === `class ${this.#class} ( Enum ) :` && !this.#classes.has(this.#class);
    if (isEnum || this.enums.has(this.#class)) this.enums.set(this.#class, isPlain ? [] : null);
    this.#classes.add(this.#class);
  }

  #endEnumValue(words: readonly string[], hasType: boolean): void {
    const value = hasType ? undefined : enumValue(words);
    if (value === undefined) this.enums.set(this.#class, null);
    else this.enums.get(this.#class)?.push(value);
  }

  /** Notes what the statement has. */
  #note(found: string): void {
    const statement = this.#statement;
    if (statement === undefined) return;
    if (found === 'Enum') statement.isEnum = true;
    const keeps = statement.first === 'class' || (statement.block === 'enum' && statement.hasValue);
    if (keeps && statement.words.length < MAX_WORDS) statement.words.push(found);
    if (this.#levels.length > 1 || statement.hasValue) return;
    if (found === ':') statement.hasType = true;
    else if (found === '=') statement.hasValue = true;
    else if (found === '[' && !statement.hasType) statement.isSubscripted = true;
  }

  #see(found: string): void {
    if (found === "'" || found === '"') throw this.#fail('a string that does not end');
    if (++this.#tokens % TOKENS_PER_OBJECT === 0) this.#budget?.object();
    if (this.#atStart) this.#beginStatement(found);
    this.#note(found);
    const level = this.#levels[this.#levels.length - 1]!;
    if (openers.has(found)) {
      if (this.#levels.length > MAX_NESTING) throw this.#fail(`brackets nested more than ${MAX_NESTING} deep`);
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
    if (this.#levels.length === 1) throw this.#fail('an unmatched closing bracket');
    const { height, highest } = this.#levels.pop()!;
    // The bracket is one operand of the enclosing expression.
    this.#raise(this.#levels[this.#levels.length - 1]!, Math.max(height, highest) + 1);
  }

  #raise(level: Level, by: number): void {
    level.height += by;
    if (level.height > 2 * MAX_NESTING) throw this.#fail(`an expression nested more than ${2 * MAX_NESTING} deep`);
  }

  #beginStatement(first: string): void {
    this.#atStart = false;
    while (this.#indents.length > 1 && this.#indent < this.#indents[this.#indents.length - 1]!) {
      this.#indents.pop();
      this.#elifs.pop();
      this.#blocks.pop();
    }
    if (this.#indent > this.#indents[this.#indents.length - 1]!) {
      this.#indents.push(this.#indent);
      this.#elifs.push(0);
      const { first: head, isEnum } = this.#statement ?? {};
      this.#blocks.push(head !== 'class' ? 'other' : isEnum ? 'enum' : 'class');
      if (this.#indents.length > MAX_INDENTS) throw this.#fail(`blocks nested more than ${MAX_INDENTS} deep`);
    }
    const at = this.#elifs.length - 1;
    this.#elifs[at] = first === 'elif' ? this.#elifs[at]! + 1 : 0;
    if (this.#elifs[at]! > MAX_ELIFS) throw this.#fail(`more than ${MAX_ELIFS} branches of one if`);
    const block = this.#blocks[at]!;
    const has = { isEnum: false, isSubscripted: false, hasType: false, hasValue: false };
    this.#statement = { first, block, words: [], ...has };
    this.#isNoted = false;
  }
}
