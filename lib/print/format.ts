/** `toString()` as PyTorch prints: a port of the rules of torch/_tensor_str.py. */

import { tensor as createTensor } from '../create';
import { dtypeName } from '../enums';
import { argumentError } from '../errors';
import { native } from '../native';
import { toTypedArray } from '../read';
import { scope } from '../scopes/scope';
import type { Tensor } from '../tensor';
import { exponential, fixed } from './numbers';

export interface PrintOptions {
  /** Digits after the point (default 4). */
  precision: number;
  /** More elements than this are summarised (default 1000). */
  threshold: number;
  /** Elements at each end of a summarised dimension (default 3). */
  edgeitems: number;
  /** Characters per line (default 80). */
  linewidth: number;
  /** Scientific notation: always, never, or by the values (null). */
  sciMode: boolean | null;
}

const defaults: PrintOptions = { precision: 4, threshold: 1000, edgeitems: 3, linewidth: 80, sciMode: null };
let options: PrintOptions = { ...defaults };

/** Changes how tensors print in this thread; what is left out stays as it is. */
export function setPrintOptions(changes: Partial<PrintOptions>): void {
  for (const [name, value] of Object.entries(changes)) {
    if (!(name in defaults))
      throw argumentError('setPrintOptions', 'changes', `options among ${Object.keys(defaults)}`, name);
    const ok =
      name === 'sciMode'
        ? value === null || typeof value === 'boolean'
        : Number.isInteger(value) && (value as number) >= 0;
    if (!ok)
      throw argumentError(
        'setPrintOptions',
        name,
        name === 'sciMode' ? 'a boolean or null' : 'an integer of 0 or more',
        value,
      );
  }
  options = { ...options, ...changes };
}

type Format = (value: number) => string;
interface Formatter {
  width: number;
  format: (value: number | bigint) => string;
}

function realFormatter(values: ArrayLike<number>): Formatter {
  const { precision } = options;
  const finite = Array.from(values).filter((value) => Number.isFinite(value) && value !== 0);
  const magnitudes = finite.map(Math.abs);
  const max = magnitudes.reduce((a, b) => Math.max(a, b), 0);
  const min = magnitudes.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const integers = finite.every((value) => value === Math.ceil(value));
  const wide = finite.length > 0 && (max / min > 1000 || max > 1e8 || (!integers && min < 1e-4));
  const scientific = options.sciMode ?? wide;
  const write: Format = scientific
    ? (value) => exponential(value, precision)
    : integers
      ? (value) => (Number.isFinite(value) ? `${fixed(value, 0)}.` : fixed(value, 0))
      : (value) => fixed(value, precision);
  const width = finite.reduce((longest, value) => Math.max(longest, write(value).length), 1);
  return { width, format: (value) => write(value as number).padStart(width) };
}

function plainFormatter(texts: string[]): Formatter {
  const width = texts.reduce((longest, text) => Math.max(longest, text.length), 1);
  return { width, format: (value) => String(value).padStart(width) };
}

/** How the element at a flat position prints, and how wide. */
interface Cells {
  width: number;
  text: (index: number) => string;
}

function cellsOf(tensor: Tensor): Cells {
  const flat = toTypedArray(tensor);
  const dtype = tensor.dtype;
  if (dtype.startsWith('complex')) {
    const reals = Array.from(flat as Float64Array).filter((_, i) => i % 2 === 0);
    const imags = Array.from(flat as Float64Array).filter((_, i) => i % 2 === 1);
    const re = realFormatter(reals);
    const im = realFormatter(imags);
    const imag = (value: number) => {
      const text = `${im.format(value)}j`.trimStart();
      return text.startsWith('-') || text.startsWith('+') ? text : `+${text}`;
    };
    return { width: re.width + im.width + 1, text: (i) => re.format(reals[i]!) + imag(imags[i]!) };
  }
  if (dtype === 'bool') {
    const name = (value: unknown) => (value ? 'True' : 'False');
    const { width } = plainFormatter(Array.from(flat as Uint8Array, name));
    return { width, text: (i) => name(flat[i]).padStart(width) };
  }
  if (flat instanceof Float32Array || flat instanceof Float64Array) {
    const formatter = realFormatter(flat);
    return { width: formatter.width, text: (i) => formatter.format(flat[i]!) };
  }
  const formatter = plainFormatter(Array.from(flat as ArrayLike<number | bigint>, String));
  return { width: formatter.width, text: (i) => formatter.format(flat[i]!) };
}

/** Which indices of a dimension of this size are shown; null marks the gap. */
function shown(size: number, summarize: boolean): (number | null)[] {
  const { edgeitems } = options;
  const all = Array.from({ length: size }, (_, i) => i);
  if (!summarize || size <= 2 * edgeitems) return all;
  return [...all.slice(0, edgeitems), null, ...all.slice(size - edgeitems)];
}

/** The shown elements alone, so that a large tensor is not copied to print a few of its numbers. */
function summary(tensor: Tensor): Tensor {
  let result = tensor.detach();
  tensor.shape.forEach((size, dim) => {
    const kept = shown(size, true).filter((index) => index !== null);
    if (kept.length < size) {
      result = result.indexSelect(dim, createTensor(kept, { dtype: 'int64', device: tensor.device }));
    }
  });
  return result;
}

function nestedText(shape: readonly number[], summarize: boolean, cells: Cells): string {
  // Positions count in the summarised data, where the gaps are closed.
  let next = 0;
  const build = (depth: number, indent: number): string => {
    if (depth === shape.length) return cells.text(next++);
    const parts = shown(shape[depth]!, summarize).map((index) => {
      if (index === null) return depth === shape.length - 1 ? ' ...' : '...';
      return build(depth + 1, indent + 1);
    });
    if (depth < shape.length - 1)
      return `[${parts.join(`,${'\n'.repeat(shape.length - depth - 1)}${' '.repeat(indent + 1)}`)}]`;
    const perLine = Math.max(1, Math.floor((options.linewidth - indent) / (cells.width + 2)));
    const lines: string[] = [];
    for (let i = 0; i < parts.length; i += perLine) lines.push(parts.slice(i, i + perLine).join(', '));
    return `[${lines.join(`,\n${' '.repeat(indent + 1)}`)}]`;
  };
  return build(0, 'tensor('.length);
}

function suffixes(tensor: Tensor): string[] {
  const list: string[] = [];
  const { dtype, device } = tensor;
  const usual = dtypeName(native.getDefaultDtype());
  const usualComplex = usual === 'float64' ? 'complex128' : 'complex64';
  if (device !== 'cpu') list.push(`device='${device}'`);
  const empty = tensor.numel === 0;
  if (empty && tensor.ndim !== 1) list.push(`size=(${tensor.shape.join(', ')})`);
  const implied = empty ? [usual] : [usual, usualComplex, 'int64', 'bool'];
  if (!implied.includes(dtype)) list.push(`dtype=torch.${dtype}`);
  if (tensor.gradFn !== null) list.push(`grad_fn=<${tensor.gradFn}>`);
  else if (tensor.requiresGrad) list.push('requires_grad=True');
  return list;
}

function addSuffixes(text: string, list: readonly string[]): string {
  const indent = 'tensor('.length;
  let result = text;
  let lineLength = text.length - text.lastIndexOf('\n') + 1;
  for (const suffix of list) {
    if (lineLength + suffix.length + 2 > options.linewidth) {
      result += `,\n${' '.repeat(indent)}${suffix}`;
      lineLength = indent + suffix.length;
    } else {
      result += `, ${suffix}`;
      lineLength += suffix.length + 2;
    }
  }
  return `${result})`;
}

/** What `print(t)` shows in Python. */
export function format(tensor: Tensor): string {
  if (tensor.device === 'meta')
    return addSuffixes('tensor(...', [
      `device='meta'`,
      `size=(${tensor.shape.join(', ')})`,
      ...suffixes(tensor).filter((s) => !s.startsWith('device') && !s.startsWith('size')),
    ]);
  if (tensor.layout !== 'strided') {
    return `tensor(${tensor.layout}, ${[`size=(${tensor.shape.join(', ')})`, ...suffixes(tensor)].join(', ')})`;
  }
  if (tensor.numel === 0) return addSuffixes('tensor([]', suffixes(tensor));
  return scope(() => {
    const summarize = tensor.numel > options.threshold;
    const cells = cellsOf(summarize ? summary(tensor) : tensor.detach());
    return addSuffixes(`tensor(${nestedText(tensor.shape, summarize, cells)}`, suffixes(tensor));
  });
}
