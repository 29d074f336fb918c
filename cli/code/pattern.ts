/** Finds the names that a destructuring pattern binds: `h, c` of `const [h, c] = …`. */

/** A pattern's first bracket: after a keyword or where a statement begins, unlike the bracket of an index or a literal. */
const OPENING = /(?<=(?:^|[;({}]|\)\s|=>|\b(?:const|let|var|else|do))\s*)[[{]/g;
/** After a pattern; its type may come first. */
const BINDS = /^\s*(?:(?::[^=;]*)?=(?![=>])|of\b)/;
const TARGET = /^(?:this\.)?#?[A-Za-z_$][\w$]*(?:\.#?[A-Za-z_$][\w$]*)*$/;
const MAX_NAMES = 3;

interface Binding {
  /** Where the operator ends. */
  at: number;
  /** Empty if the pattern cannot be read, or begins on an earlier line. */
  name: string;
}

/** The last pattern in `before` whose value is still being computed where `before` ends. */
export function patternBefore(before: string): Binding | undefined {
  const found: Binding[] = [];
  const add = (open: number | undefined, close: number): number | undefined => {
    const operator = BINDS.exec(before.slice(close + 1))?.[0];
    if (operator === undefined) return undefined;
    const at = close + 1 + operator.length;
    const names = open === undefined ? undefined : boundIn(before.slice(open, close + 1));
    if (find(before, at, ',;)]}') === -1) found.push({ at, name: listed(names ?? []) });
    return at;
  };
  for (let at = find(before, 0, ')]}'); at !== -1; at = find(before, at + 1, ')]}'))
    if (before[at] !== ')') add(undefined, at);
  let inner = 0;
  for (const { index } of before.matchAll(OPENING)) {
    if (index < inner) continue;
    const close = find(before, index + 1, ')]}');
    if (close !== -1) inner = add(index, close) ?? inner;
  }
  return found.sort((a, b) => a.at - b.at).at(-1);
}

const listed = (names: string[]): string =>
  [...names.slice(0, MAX_NAMES), ...(names.length > MAX_NAMES ? ['…'] : [])].join(', ');

/** The names in a pattern with its brackets; undefined if the text is not a pattern. */
function boundIn(pattern: string): string[] | undefined {
  const names: string[] = [];
  const end = pattern.length - 1;
  for (let from = 1, to = 0; from <= end; from = to + 1) {
    to = find(pattern, from, ',]}');
    if (to === -1 || (to < end && pattern[to] !== ',')) return undefined;
    let part = pattern.slice(from, to);
    const initial = find(part, 0, '=');
    if (initial !== -1) part = part.slice(0, initial);
    if (pattern.startsWith('{')) part = part.slice(find(part, 0, ':') + 1);
    const target = part.trim().replace(/^\.\.\.\s*/, '');
    if (target === '') continue; // a hole
    const bound = /^[[{].*[\]}]$/.test(target) ? boundIn(target) : TARGET.test(target) ? [target] : undefined;
    if (bound === undefined) return undefined;
    names.push(...bound);
  }
  return names;
}

/** The index of the first of the characters `wanted` from `from` on, outside strings and nested brackets; -1 if none. */
function find(text: string, from: number, wanted: string): number {
  let depth = 0;
  let quote = '';
  for (let i = from; i < text.length; i++) {
    const c = text[i]!;
    if (quote !== '') {
      if (c === '\\') i++;
      else if (c === quote) quote = '';
    } else if (depth === 0 && wanted.includes(c)) return i;
    else if ('\'"`'.includes(c)) quote = c;
    else if ('([{'.includes(c)) depth++;
    else if (')]}'.includes(c) && --depth < 0) return -1;
  }
  return -1;
}
