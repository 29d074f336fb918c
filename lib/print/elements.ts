/** The elements of a strided tensor as PyTorch prints them: columns of one width, nested in brackets, summarised. */
import { tensor as createTensor } from '../elements/create';
import { toTypedArray } from '../tensor/read';
import type { Tensor } from '../tensor/tensor';
import { exponential, fixed } from './numbers';
import { printOptions, widthFollowsSciMode } from './options';

type Format = (value: number) => string;
interface Formatter {
  width: number;
  format: (value: number | bigint) => string;
}

function realFormatter(values: ArrayLike<number>): Formatter {
  const { precision, sciMode } = printOptions();
  const finite = Array.from(values).filter((value) => Number.isFinite(value) && value !== 0);
  const magnitudes = finite.map(Math.abs);
  const max = magnitudes.reduce((a, b) => Math.max(a, b), 0);
  const min = magnitudes.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const integers = finite.every((value) => value === Math.ceil(value));
  const wide = finite.length > 0 && (max / min > 1000 || max > 1e8 || (!integers && min < 1e-4));
  const plain: Format = integers
    ? (value) => (Number.isFinite(value) ? `${fixed(value, 0)}.` : fixed(value, 0))
    : (value) => fixed(value, precision);
  const scientific: Format = (value) => exponential(value, precision);
  const usual = wide ? scientific : plain;
  const write = finite.length > 0 && sciMode !== null ? (sciMode ? scientific : plain) : usual;
  const measured = widthFollowsSciMode ? write : usual;
  const width = finite.reduce((longest, value) => Math.max(longest, measured(value).length), 1);
  return { width, format: (value) => write(value as number).padStart(width) };
}

function plainFormatter(texts: string[]): Formatter {
  const width = texts.reduce((longest, text) => Math.max(longest, text.length), 1);
  return { width, format: (value) => String(value).padStart(width) };
}

/** The formatter of elements by flat position, and their width. */
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

const indices = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

/** Which indices of a dimension of this size are shown; null marks the gap. */
function shown(size: number, summarize: boolean): (number | null)[] {
  const { edgeitems } = printOptions();
  if (!summarize || size <= 2 * edgeitems) return indices(0, size);
  return [...indices(0, edgeitems), null, ...indices(size - edgeitems, size)];
}

/** Only the shown elements, so that a large tensor is not copied to print a few numbers. */
function summary(tensor: Tensor): Tensor {
  let result = tensor;
  tensor.shape.forEach((size, dim) => {
    const kept = shown(size, true).filter((index) => index !== null);
    if (kept.length < size) {
      result = result.indexSelect(dim, createTensor(kept, { dtype: 'int64', device: tensor.device }));
    }
  });
  return result;
}

function nestedText(shape: readonly number[], summarize: boolean, cells: Cells, indent: number): string {
  // Positions refer to the summarised data, without the gaps.
  let next = 0;
  const build = (depth: number, column: number): string => {
    if (depth === shape.length) return cells.text(next++);
    const parts = shown(shape[depth]!, summarize).map((index) => {
      if (index === null) return depth === shape.length - 1 ? ' ...' : '...';
      return build(depth + 1, column + 1);
    });
    if (depth < shape.length - 1)
      return `[${parts.join(`,${'\n'.repeat(shape.length - depth - 1)}${' '.repeat(column + 1)}`)}]`;
    const perLine = Math.max(1, Math.floor((printOptions().linewidth - column) / (cells.width + 2)));
    const lines: string[] = [];
    for (let i = 0; i < parts.length; i += perLine) lines.push(parts.slice(i, i + perLine).join(', '));
    return `[${lines.join(`,\n${' '.repeat(column + 1)}`)}]`;
  };
  return build(0, indent);
}

/** The elements in brackets. `indent`: the width of the text before them on the first line. */
export function elementsText(tensor: Tensor, indent: number): string {
  if (tensor.numel === 0) return '[]';
  const summarize = tensor.numel > printOptions().threshold;
  // Few ops support named dimensions.
  const detached = tensor.detach() as Tensor & { rename(names: null): Tensor };
  const plain = tensor.names.some((name) => name !== null) ? detached.rename(null) : detached;
  const cells = cellsOf(summarize ? summary(plain) : plain);
  return nestedText(tensor.shape, summarize, cells, indent);
}
