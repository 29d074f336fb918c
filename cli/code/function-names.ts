/**
 * The name of a function that V8 calls anonymous: the variable or property that it is assigned to, or the function that it is
 * passed to. The source is scanned for brackets, not parsed, so the name is missing where the scan is not certain.
 */
import type { Frame } from '../capture/records';
import { codeOf } from './text';

/** A larger file is a bundle, where names mean little. */
const MAX_CHARACTERS = 2 ** 20;
const MAX_NAME = 60;

interface Span {
  begin: number;
  end: number;
  /** Empty if unknown. */
  name: string;
}

interface Open {
  char: string;
  at: number;
  /** Where the function begins whose body this is; -1 for none. */
  function: number;
}

const WORD = /[\w$]/;
/** The head of a class, up to the brace of its body, and every other brace. */
const CLASS_OR_BRACE = /\bclass\s+([\w$]+)(?:[^{}()\w$][^{}()]{0,200})?\{|[{}]/g;
const BLOCKS = new Set(['if', 'for', 'while', 'switch', 'catch', 'with', 'await']);
/** After these a slash begins a regular expression. */
const BEFORE_REGEX = /(?:^|[([{,;=:!&|?+\-*%<>~^]|\b(?:return|typeof|case|in|of|do|else|void|delete))$/;

class Scan {
  readonly spans: Span[] = [];
  private readonly open: Open[] = [];
  /** The opening bracket of each closing one. */
  private readonly pairs = new Map<number, number>();
  /** The index of the last character that is neither space nor comment. */
  private last = -1;

  constructor(private readonly text: string) {
    for (let i = 0; i < text.length; ) i = this.step(i);
    while (this.open.length > 0) this.close(text.length);
  }

  /** Reads what begins at `i`; returns where it ends. */
  private step(i: number): number {
    const { text } = this;
    const char = text[i]!;
    const two = text.slice(i, i + 2);
    if (/\s/.test(char)) return i + 1;
    if (two === '//') return endOf(text.indexOf('\n', i), text);
    if (two === '/*') return endOf(text.indexOf('*/', i + 2), text, 2);
    if (char === '"' || char === "'") return this.seen(this.quoted(i, char));
    if (char === '`') return this.template(i + 1);
    if (char === '/' && BEFORE_REGEX.test(text.slice(Math.max(0, this.last - 10), this.last + 1)))
      return this.seen(this.regex(i));
    if (two === '=>') return this.arrow(i);
    if (char === '(' || char === '[' || char === '{') this.push(i, char);
    else if (char === ')' || char === ']' || char === '}') {
      this.endArrows(i);
      const template = this.open.at(-1)?.char === '`';
      this.close(i);
      if (template) return this.template(i + 1);
    } else if (char === ',' || char === ';') this.endArrows(i);
    return this.seen(i + 1);
  }

  private seen(next: number): number {
    this.last = next - 1;
    return next;
  }

  private quoted(from: number, quote: string): number {
    for (let i = from + 1; i < this.text.length; i++) {
      if (this.text[i] === '\\') i++;
      else if (this.text[i] === quote || this.text[i] === '\n') return i + 1;
    }
    return this.text.length;
  }

  private regex(from: number): number {
    let isClass = false;
    for (let i = from + 1; i < this.text.length; i++) {
      const char = this.text[i];
      if (char === '\\') i++;
      else if (char === '\n') return i;
      else if (char === '[') isClass = true;
      else if (char === ']') isClass = false;
      else if (char === '/' && !isClass) return i + 1;
    }
    return this.text.length;
  }

  /** The text of a template up to its end, or to an expression in it. */
  private template(from: number): number {
    for (let i = from; i < this.text.length; i++) {
      if (this.text[i] === '\\') i++;
      else if (this.text[i] === '`') return this.seen(i + 1);
      else if (this.text.startsWith('${', i)) {
        this.open.push({ char: '`', at: i, function: -1 });
        return this.seen(i + 2);
      }
    }
    return this.text.length;
  }

  private arrow(at: number): number {
    const begin = this.beginOfArrow();
    const rest = /^\s*/.exec(this.text.slice(at + 2, at + 200))![0].length + at + 2;
    if (this.text[rest] === '{') {
      this.open.push({ char: '{', at: rest, function: begin });
      return this.seen(rest + 1);
    }
    this.open.push({ char: '=>', at, function: begin });
    return this.seen(at + 2);
  }

  private beginOfArrow(): number {
    let i = this.pairs.get(this.last) ?? this.last;
    if (i === this.last) while (i > 0 && WORD.test(this.text[i - 1]!)) i--;
    return i;
  }

  private push(at: number, char: string): void {
    this.open.push({ char, at, function: char === '{' ? this.beginOfBody() : -1 });
  }

  /** Where the function begins whose body opens here; -1 if it is another block or an object. */
  private beginOfBody(): number {
    const { text, last } = this;
    let end = last;
    if (text[end] !== ')') {
      // There may be a result type between the parameters and the body.
      const typed = /\)\s*:\s*[\w$.<>[\]|&,\s]+$/.exec(text.slice(Math.max(0, last - 200), last + 1));
      if (typed === null) return -1;
      end = last + 1 - typed[0].length;
    }
    const parameters = this.pairs.get(end);
    if (parameters === undefined) return -1;
    const before = /(?:(\bfunction)\s*\*?\s*)?([\w$#]*)\s*$/.exec(
      text.slice(Math.max(0, parameters - 100), parameters),
    )!;
    if (before[1] === undefined && (before[2] === '' || BLOCKS.has(before[2]!))) return -1;
    if (before[2] === 'function' || (before[1] !== undefined && before[2] === '')) return parameters - before[0].length;
    return parameters; // a name of its own, which V8 knows
  }

  /** Bodies that are expressions end before `i`. */
  private endArrows(i: number): void {
    while (this.open.at(-1)?.char === '=>') this.close(i);
  }

  private close(at: number): void {
    const opened = this.open.pop();
    if (opened === undefined) return;
    if (opened.char === '(' || opened.char === '[') this.pairs.set(at, opened.at);
    if (opened.function >= 0) this.spans.push({ begin: opened.at, end: at, name: this.nameOf(opened.function) });
  }

  private nameOf(begin: number): string {
    const before = this.text.slice(Math.max(0, begin - 200), begin).replace(/\basync\s*$/, '');
    const assigned = /((?:[\w$#]+|\])(?:\??\.[\w$#]+)*)\s*(?::[^=;{]*)?(?:\?\?|\|\||&&)?=\s*$/.exec(before)?.[1];
    if (assigned !== undefined && assigned !== ']') return shortened(assigned);
    const property = /[{,]\s*['"]?([\w$-]+)['"]?\s*:\s*$/.exec(before)?.[1];
    if (property !== undefined) return shortened(property);
    const call = this.open.at(-1);
    if (call?.char !== '(' || !/[(,]\s*$/.test(before)) return '';
    const callee = /([\w$#]+(?:\??\.[\w$#]+)*)\s*$/.exec(this.text.slice(Math.max(0, call.at - 100), call.at))?.[1];
    return callee === undefined || BLOCKS.has(callee) ? '' : `passed to ${shortened(callee)}`;
  }
}

const endOf = (index: number, text: string, more = 0) => (index === -1 ? text.length : index + more);

const shortened = (name: string) => (name.length > MAX_NAME ? '' : name);

const scans = new Map<string, { text: string; spans: Span[]; lines: number[] } | undefined>();

function scanOf(file: string) {
  if (!scans.has(file)) {
    const text = codeOf(file);
    const lines = [0];
    if (text !== undefined && text.length <= MAX_CHARACTERS) {
      for (let i = text.indexOf('\n'); i >= 0; i = text.indexOf('\n', i + 1)) lines.push(i + 1);
      scans.set(file, { text, spans: new Scan(text).spans, lines });
    } else scans.set(file, undefined);
  }
  return scans.get(file);
}

/** The name for the initialiser of a static field: the class around it, which V8 does not report. */
function staticName({ file, line, column }: Frame): string {
  const scan = line < 1 ? undefined : scanOf(file);
  const begin = scan?.lines[line - 1];
  if (scan === undefined || begin === undefined) return 'static field';
  const at = begin + Math.max(0, column - 1);
  // The innermost class whose body is not closed before the position. Braces in strings are counted too, so it may be missed
  // or wrong.
  const open: (string | undefined)[] = [];
  for (const [found, name] of scan.text.slice(0, at).matchAll(CLASS_OR_BRACE)) {
    if (found === '}') open.pop();
    else open.push(name);
  }
  const around = open.filter((name) => name !== undefined).at(-1);
  return around === undefined ? 'static field' : `static field of ${around}`;
}

/** The function of a frame: its own name, `(anonymous, handler)`, `(anonymous, passed to setInterval)`, `(top level)`. */
export function calledName(frame: Frame): string {
  if (frame.function === '<static_initializer>') return staticName(frame);
  if (frame.function !== '') return frame.function;
  const scan = frame.line < 1 ? undefined : scanOf(frame.file);
  const begin = scan?.lines[frame.line - 1];
  if (scan === undefined || begin === undefined) return '(anonymous)';
  const at = begin + Math.max(0, frame.column - 1);
  const inner = scan.spans
    .filter((span) => span.begin < at && at < span.end)
    .reduce<Span | undefined>((a, b) => (a === undefined || b.begin > a.begin ? b : a), undefined);
  if (inner === undefined) return '(top level)';
  return inner.name === '' ? '(anonymous)' : `(anonymous, ${inner.name})`;
}
