/** A byte-level BPE tokenizer: learned from a text here, run by `@huggingface/tokenizers`, which reads any tokenizer.json. */
import { readFileSync } from 'node:fs';

export interface Tokenizer {
  encode(text: string): number[];
  decode(ids: number[]): string;
}

/** The part of the library that is used. Its own declarations do not resolve with TypeScript's `node16`. */
interface HuggingFace {
  Tokenizer: new (
    tokenizer: object,
    config: object,
  ) => {
    encode(text: string, options: { add_special_tokens: boolean }): { ids: number[] };
    decode(ids: number[], options: { skip_special_tokens: boolean; clean_up_tokenization_spaces: boolean }): string;
  };
}

/** The JSON of a file. @throws Error with the name of a file that has none */
function jsonOf(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new Error(`${file}: expected JSON, got another text: ${error.message}`, { cause: error });
  }
}

/** The tokenizer of a tokenizer.json. @throws Error with the name of a file that is not one */
export function openTokenizer(file: string): Tokenizer {
  const library = require('@huggingface/tokenizers') as HuggingFace;
  const json = jsonOf(file) as { model?: { type?: unknown } } | null;
  if (typeof json?.model?.type !== 'string') {
    throw new Error(`${file}: expected a tokenizer with a type of model, got ${JSON.stringify(json)?.slice(0, 40)}`);
  }
  const tokenizer = new library.Tokenizer(json, {});
  const exactly = { skip_special_tokens: false, clean_up_tokenization_spaces: false };
  return {
    encode: (text) => tokenizer.encode(text, { add_special_tokens: false }).ids,
    decode: (ids) => tokenizer.decode(ids, exactly),
  };
}

/** The text of tokens that come one at a time. A character of several bytes may need several tokens. */
export function reader({ decode }: Tokenizer): (token: number) => string {
  let waiting: number[] = [];
  return (token) => {
    waiting.push(token);
    const text = decode(waiting);
    // Characters have at most four bytes: after that many tokens the bytes are not UTF-8, and are shown as they are.
    if (text.endsWith('\ufffd') && waiting.length < 4) return '';
    waiting = [];
    return text;
  };
}

/** GPT-2's letters for bytes: printable ones stand for themselves, the others are moved behind 255. */
const LETTERS = (() => {
  let moved = 256;
  const printable = (byte: number) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printable(byte) ? byte : moved++));
})();

/** Words as GPT-2 divides texts: the merges of a token stay in a word. */
const WORDS = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;

/** A tokenizer.json with a vocabulary of that size: the bytes, and the pairs that are the most frequent in the text. */
export function learnTokenizer(text: string, size: number): object {
  const counts = new Map<string, number>();
  for (const [word] of text.matchAll(WORDS)) counts.set(word, (counts.get(word) ?? 0) + 1);
  const words = [...counts].map(([word, count]) => ({ parts: [...Buffer.from(word)].map((b) => LETTERS[b]!), count }));
  const vocabulary = [...LETTERS].sort();
  const merges: [string, string][] = [];
  while (vocabulary.length < size) {
    const pairs = new Map<string, number>();
    for (const { parts, count } of words)
      for (let i = 1; i < parts.length; i++) {
        const pair = `${parts[i - 1]} ${parts[i]}`;
        pairs.set(pair, (pairs.get(pair) ?? 0) + count);
      }
    const best = [...pairs].reduce((most, pair) => (pair[1] > most[1] ? pair : most), ['', 1]);
    if (best[1] === 1) break; // what is left occurs once
    const [left, right] = best[0].split(' ') as [string, string];
    merges.push([left, right]);
    vocabulary.push(left + right);
    for (const word of words) word.parts = merged(word.parts, left, right);
  }
  const level = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true };
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: [],
    normalizer: null,
    pre_tokenizer: level,
    post_processor: null,
    decoder: level,
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      vocab: Object.fromEntries(vocabulary.map((token, id) => [token, id])),
      merges,
    },
  };
}

function merged(parts: string[], left: string, right: string): string[] {
  const result: string[] = [];
  for (const part of parts) {
    if (part === right && result.at(-1) === left) result[result.length - 1] = left + right;
    else result.push(part);
  }
  return result;
}
