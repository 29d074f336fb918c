/** Texts as tokens, through the program's `@huggingface/tokenizers`. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ownOptions } from '../../addon/options';
import { fromTypedArray } from '../../elements/create';
import { upTo } from '../../errors/arity';
import { argumentError, codedError } from '../../errors/errors';
import { peer } from '../../errors/peer';
import { type FilePath, pathOf } from '../../files/paths';
import { ownScope } from '../../lifetimes/scope';
import { tensors } from '../../lifetimes/walk';
import { isTensor, type Tensor } from '../../tensor/tensor';
import { countOf, flagOf, placeOf } from '../arguments';
import { Dataset } from '../dataset';

/** The part of a tokenizer of @huggingface/tokenizers that is used here. */
export interface Tokenizer {
  encode(text: string, options?: { add_special_tokens?: boolean }): { readonly ids: readonly number[] };
  decode(ids: number[], options?: { skip_special_tokens?: boolean }): string;
  token_to_id(token: string): number | undefined;
}

/**
 * The tokenizer of a folder with `tokenizer.json` and, if there is one, `tokenizer_config.json`, as Hugging Face's models
 * have them.
 *
 * @throws ERR_TORCH_MISSING_PACKAGE without @huggingface/tokenizers
 */
export async function loadTokenizer(folder: FilePath): Promise<Tokenizer> {
  const fn = 'utils.data.loadTokenizer';
  const path = pathOf(fn, 'folder', folder);
  const library = peer(fn, '@huggingface/tokenizers') as {
    Tokenizer: new (tokenizer: object, config: object) => Tokenizer;
  };
  const json = async (name: string) => JSON.parse(await readFile(join(path, name), 'utf8')) as object;
  const config = json('tokenizer_config.json').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return {};
    throw error;
  });
  const [tokenizer, settings] = await Promise.all([json('tokenizer.json'), config]);
  return new library.Tokenizer(tokenizer, settings);
}

export interface TokenBatch {
  /** int64, [texts, tokens] */
  inputIds: Tensor;
  /** int64: 1 for a token, 0 for padding. */
  attentionMask: Tensor;
}

export interface TokenCollateOptions {
  /** Longer texts are cut (default: no limit). */
  maxLength?: number | undefined;
  /** The id that pads shorter rows. Default: 0. */
  padId?: number | undefined;
  /** Pad all rows to `maxLength`, not only to the longest row of the batch. Default: false. */
  padToMax?: boolean | undefined;
  /** Add the tokenizer's special tokens. Default: true. */
  addSpecialTokens?: boolean | undefined;
}

/** A `collateFn` that turns a list of texts into `{ inputIds, attentionMask }`, padded at the end of each row. */
export function tokenCollate(tokenizer: Tokenizer, options: TokenCollateOptions = {}): (texts: any) => TokenBatch {
  const fn = 'utils.data.tokenCollate';
  const given = ownOptions(fn, options, ['maxLength', 'padId', 'padToMax', 'addSpecialTokens']);
  const { padId = 0 } = given;
  const padToMax = flagOf(fn, 'padToMax', given.padToMax, false);
  const addSpecialTokens = flagOf(fn, 'addSpecialTokens', given.addSpecialTokens, true);
  if (!Number.isSafeInteger(padId)) throw argumentError(fn, 'padId', 'an integer', padId);
  if (typeof tokenizer?.encode !== 'function') {
    throw argumentError(fn, 'tokenizer', 'a tokenizer with encode(text)', tokenizer);
  }
  const most = given.maxLength === undefined ? Number.POSITIVE_INFINITY : lengthIn(fn, given.maxLength);
  if (padToMax && most === Number.POSITIVE_INFINITY) {
    throw argumentError(fn, 'maxLength', 'a length, since padToMax is true', given.maxLength);
  }
  return (texts: Iterable<unknown>): TokenBatch => {
    if (!Array.isArray(texts)) throw argumentError(fn, 'texts', 'a list of texts', texts);
    const rows = Array.from(texts, (text, i) => {
      if (typeof text !== 'string') throw argumentError(fn, `texts[${i}]`, 'a string', text);
      const ids: unknown = tokenizer.encode(text, { add_special_tokens: addSpecialTokens })?.ids;
      if (Array.isArray(ids)) return ids as unknown[];
      throw argumentError(fn, 'tokenizer', 'a tokenizer whose encode(text) gives { ids }, a list', ids);
    });
    const width = padToMax ? most : rows.reduce((all, ids) => Math.max(all, Math.min(ids.length, most)), 0);
    const ids = new BigInt64Array(rows.length * width).fill(BigInt(padId));
    const mask = new BigInt64Array(rows.length * width);
    rows.forEach((row, r) => {
      const count = Math.min(row.length, width);
      for (let i = 0; i < count; i++) ids[r * width + i] = idOf(fn, r, row[i]);
      mask.fill(1n, r * width, r * width + count);
    });
    return ownScope(() => ({
      inputIds: fromTypedArray(ids, [rows.length, width]) as Tensor,
      attentionMask: fromTypedArray(mask, [rows.length, width]) as Tensor,
    }));
  };
}

/** A typed array has no more elements. */
const MAX_LENGTH = 2 ** 32;

function lengthIn(fn: string, value: unknown): number {
  const length = countOf(fn, 'maxLength', value);
  if (length > MAX_LENGTH) throw argumentError(fn, 'maxLength', `at most ${MAX_LENGTH}`, value);
  return length;
}

function idOf(fn: string, row: number, id: unknown): bigint {
  if (Number.isSafeInteger(id)) return BigInt(id as number);
  // A tokenizer without a token for what is unknown gives undefined.
  throw argumentError(fn, `texts[${row}]`, 'a text whose tokens all have an id', id);
}

/** Blocks of one long row of tokens, for a model that predicts the next token: sample i is `[tokens, the next tokens]`. */
export class TokenBlocks extends Dataset<[Tensor, Tensor]> {
  static module = __filename;
  readonly tokens: Tensor;
  readonly blockSize: number;

  constructor(tokens: Tensor | ArrayLike<number>, blockSize: number);
  constructor(...passed: [tokens: Tensor | ArrayLike<number>, blockSize: number]) {
    super();
    const [tokens, blockSize] = upTo('utils.data.TokenBlocks', 2, passed);
    const fn = 'utils.data.TokenBlocks';
    this.blockSize = countOf(fn, 'blockSize', blockSize);
    const row = isTensor(tokens) ? tokens : (fromTypedArray(BigInt64Array.from(idsOf(fn, tokens))) as Tensor);
    if (row.ndim !== 1 || row.numel <= this.blockSize) {
      throw argumentError(fn, 'tokens', `one row of more than ${blockSize} tokens`, tokens);
    }
    this.tokens = row;
  }

  get length(): number {
    return Math.floor((this.tokens.numel - 1) / this.blockSize);
  }

  getItem(index: number): [Tensor, Tensor] {
    const { length, blockSize, tokens } = this;
    const from = placeOf('utils.data.TokenBlocks', length, index) * blockSize;
    return [tokens.narrow(0, from, blockSize) as Tensor, tokens.narrow(0, from + 1, blockSize) as Tensor];
  }

  override get [tensors](): unknown {
    return [this.tokens];
  }
}

function* idsOf(fn: string, tokens: ArrayLike<number>): Generator<bigint> {
  for (let i = 0; i < tokens.length; i++) {
    if (!Number.isSafeInteger(tokens[i])) throw argumentError(fn, `tokens[${i}]`, 'an integer', tokens[i]);
    yield BigInt(tokens[i]!);
  }
  if (!(tokens.length > 0)) throw codedError(TypeError, 'ERR_TORCH_ARGUMENT', `${fn}: expected tokens, got none`);
}
