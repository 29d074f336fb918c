/**
 * Detects code that runs while a model is loaded. libtorch runs a class's `__setstate__` when it creates an object, and the
 * expressions of default values when it reads a function or a named tuple. To refuse these, the source is tokenized and must
 * have exactly the form that PyTorch writes, so that libtorch sees the same tokens.
 */
import type { Fail } from './archive';

/** A string, a name, a number, a newline, spaces or one other character, as PyTorch's printer writes them. */
const token = /"(?:[^"\\\n]|\\[^\n])*"|'(?:[^'\\\n]|\\[^\n])*'|[A-Za-z_]\w*|\d[\w.]*|\n| +|[^\n]/g;

/** Calls that only make constants outside functions: `float('inf')`, `annotate(List[int], [])`. */
const constantMakers = new Set(['annotate', 'complex', 'float']);

/** Operators that read or write files, or call other processes, in any module. */
const unsafeOperators = new Set([
  ...['from_file', 'load', 'save', 'read_file', 'write_file'],
  ...['rpc_async', 'rpc_sync', 'rpc_remote'],
]);

/** Throws for code that runs during loading, can access files or processes, or cannot be analysed. */
export function refuseRunning(text: string, fail: Fail): void {
  // Refused in strings and comments too. Names cannot be assembled from parts.
  if (text.includes('__setstate__')) throw fail('it runs code while it is loaded: a class has __setstate__');
  new Reader(fail).read(text);
}

class Reader {
  readonly #fail: Fail;
  /** For each open bracket, whether it encloses the arguments of getattr. */
  #brackets: boolean[] = [];
  #before = '\n';
  #beforeThat = '\n';
  #third = '\n';
  #indent = 0;
  #startsLine = true;
  /** The indentation of the enclosing function; null outside functions. `#header`: of the function header being read. */
  #body: number | null = null;
  #header: number | null = null;

  constructor(fail: Fail) {
    this.#fail = fail;
  }

  read(text: string): void {
    for (const [word] of text.matchAll(token)) {
      if (word === '\n') this.#endLine();
      else if (word[0] === ' ') {
        if (this.#startsLine) this.#indent = word.length;
      } else this.#see(word);
    }
  }

  #endLine(): void {
    if (this.#brackets.length > 0) return;
    this.#startsLine = true;
    this.#indent = 0;
  }

  #see(word: string): void {
    if (this.#startsLine) this.#beginStatement(word);
    this.#demandPlain(word);
    if (unsafeOperators.has(word)) throw this.#fail(`its code uses ${word}, which can access files or other processes`);
    if (word === '(' && this.#body === null) this.#demandConstant();
    if (word === '(' || word === '[' || word === '{') {
      this.#brackets.push(word === '(' && this.#before === 'getattr');
    } else if (word === ')' || word === ']' || word === '}') {
      this.#brackets.pop();
    } else if (word === ':' && this.#brackets.length === 0 && this.#header !== null) {
      this.#body = this.#header;
      this.#header = null;
    }
    this.#third = this.#beforeThat;
    this.#beforeThat = this.#before;
    this.#before = word;
  }

  #beginStatement(first: string): void {
    this.#startsLine = false;
    if (this.#body !== null && this.#indent <= this.#body) this.#body = null;
    if (first !== 'def') return;
    if (this.#body !== null)
      throw this.#fail('its code has a function inside a function, as torch.jit.fork makes them');
    this.#header = this.#indent;
  }

  /** Refuses what libtorch might tokenize differently and PyTorch does not write: tabs, comments, semicolons. */
  #demandPlain(word: string): void {
    const isString = /^["']./.test(word);
    const wasString = /^["']/.test(this.#before);
    if (!isString && !/^[\w()[\]{}.,:=<>!+\-*/%@&|^~]/.test(word)) throw this.#unknown(word);
    if (!isString) return;
    if (wasString || /^[rRbBuUfF]{1,2}$/.test(this.#before)) throw this.#unknown(word);
    if (this.#brackets[this.#brackets.length - 1] !== true) return;
    const name = word.slice(1, -1);
    if (name.includes('\\') || unsafeOperators.has(name))
      throw this.#fail('its code gets an attribute by a computed name');
  }

  #unknown(word: string): Error {
    return this.#fail(`its code is not in the form that PyTorch writes, at ${JSON.stringify(word.slice(0, 20))}`);
  }

  /** Outside functions, a bracket must open a tuple, a class's bases or a function's parameters, or make a constant. */
  #demandConstant(): void {
    if (!this.#isCall()) return;
    throw this.#fail(
      `it runs code while it is loaded: ${JSON.stringify(this.#before.slice(0, 40))} is called for a constant or a default value`,
    );
  }

  #isCall(): boolean {
    if (this.#beforeThat === 'class' || this.#beforeThat === 'def') return false;
    // A class of the archive may have such a name, but is called with a prefix: __torch__.float().
    if (constantMakers.has(this.#before) && this.#beforeThat !== '.') return false;
    if (this.#before === 'device' && this.#beforeThat === '.' && this.#third === 'torch') return false;
    return /^[\w)\]}"']/.test(this.#before) && !/^(?:and|or|not|in|is|if|else|\d.*)$/.test(this.#before);
  }
}
