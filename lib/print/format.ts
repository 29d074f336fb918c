/** `toString()` as PyTorch prints: a port of the rules of torch/_tensor_str.py. */
import { dtypeName } from '../addon/enums';
import { native } from '../addon/native';
import { ownScope } from '../lifetimes/scope';
import type { Tensor } from '../tensor/tensor';
import { elementsText } from './elements';
import { pythonFloat } from './numbers';
import { printOptions } from './options';

const PREFIX = 'tensor(';

/** Python's tuple. */
const tuple = (items: readonly unknown[]) => `(${items.join(', ')}${items.length === 1 ? ',' : ''})`;

const sizeOf = (tensor: Tensor) => `size=${tuple(tensor.shape)}`;

/** Whether the dtype must be printed, because the elements do not show it. */
function isUnusual({ dtype, device, numel, layout, isQuantized }: Tensor): boolean {
  const usual = dtypeName(native.getDefaultDtype());
  if (device === 'meta' || (layout === 'strided' && numel === 0 && !isQuantized)) return dtype !== usual;
  return ![usual, usual === 'float64' ? 'complex128' : 'complex64', 'int64', 'bool'].includes(dtype);
}

/** `name=tensor(…)` among the parts of a sparse tensor. */
function part(name: string, tensor: Tensor): string {
  const before = `${name}=tensor(`;
  const empty = tensor.numel === 0 ? `, ${sizeOf(tensor)}` : '';
  return `${before}${elementsText(tensor, PREFIX.length + before.length)}${empty})`;
}

/** The tensors that a sparse tensor consists of. */
function sparseParts(tensor: Tensor): string[] {
  if (tensor.layout === 'sparse_coo') {
    return [part('indices', tensor._indices().detach()), part('values', tensor._values().detach())];
  }
  const rows = tensor.layout === 'sparse_csr' || tensor.layout === 'sparse_bsr';
  const [compressed, plain] = rows
    ? [part('crow_indices', tensor.crowIndices().detach()), part('col_indices', tensor.colIndices().detach())]
    : [part('ccol_indices', tensor.ccolIndices().detach()), part('row_indices', tensor.rowIndices().detach())];
  return [compressed, plain, part('values', tensor.values().detach())];
}

function quantization(tensor: Tensor): string[] {
  const scheme = tensor.qscheme();
  const details = scheme.startsWith('per_tensor')
    ? [`scale=${pythonFloat(tensor.qScale())}`, `zero_point=${tensor.qZeroPoint()}`]
    : [
        `scale=${format(tensor.qPerChannelScales())}`,
        `zero_point=${format(tensor.qPerChannelZeroPoints())}`,
        `axis=${tensor.qPerChannelAxis()}`,
      ];
  return [`quantization_scheme=torch.${scheme}`, ...details];
}

/** The elements or a placeholder, and details that depend on the kind of tensor. */
function contents(tensor: Tensor): { text: string; details: string[] } {
  const { layout, device } = tensor;
  const dtype = isUnusual(tensor) ? [`dtype=torch.${tensor.dtype}`] : [];
  if (device === 'meta') return { text: '...', details: [sizeOf(tensor), ...dtype] };
  if (layout.startsWith('sparse')) {
    const text = sparseParts(tensor).join(`,\n${' '.repeat(PREFIX.length)}`);
    return { text, details: [sizeOf(tensor), `nnz=${tensor._nnz()}`, ...dtype] };
  }
  if (tensor.isQuantized) {
    const text = elementsText(tensor.detach().dequantize(), PREFIX.length);
    return { text, details: [sizeOf(tensor), ...dtype, ...quantization(tensor)] };
  }
  const empty = tensor.numel === 0;
  const dense = layout === 'strided' ? tensor : tensor.detach().toDense();
  return {
    text: elementsText(dense, PREFIX.length),
    details: [...(empty && tensor.ndim !== 1 ? [sizeOf(tensor)] : []), ...dtype],
  };
}

function suffixes(tensor: Tensor, details: readonly string[]): string[] {
  const { device, layout, gradFn, names } = tensor;
  return [
    ...(device === 'cpu' ? [] : [`device='${device}'`]),
    ...details,
    ...(layout === 'strided' ? [] : [`layout=torch.${layout}`]),
    ...(gradFn !== null ? [`grad_fn=<${gradFn}>`] : tensor.requiresGrad ? ['requires_grad=True'] : []),
    ...(names.every((name) => name === null)
      ? []
      : [`names=${tuple(names.map((name) => (name === null ? 'None' : `'${name}'`)))}`]),
  ];
}

function addSuffixes(text: string, list: readonly string[], newLine: boolean): string {
  let result = text;
  let lineLength = text.length - text.lastIndexOf('\n') + 1;
  list.forEach((suffix, i) => {
    if ((newLine && i === 0) || lineLength + suffix.length + 2 > printOptions().linewidth) {
      result += `,\n${' '.repeat(PREFIX.length)}${suffix}`;
      lineLength = PREFIX.length + suffix.length;
    } else {
      result += `, ${suffix}`;
      lineLength += suffix.length + 2;
    }
  });
  return `${result})`;
}

/** Whether it is nested: the only kind of tensor without a single shape. */
function isNested(tensor: Tensor): boolean {
  try {
    return tensor.shape === undefined;
  } catch {
    return true; // libtorch refuses to give the sizes of a nested tensor
  }
}

/** The parts, each indented by two. */
const nestedParts = (tensor: Tensor) =>
  tensor
    .unbind(0)
    .map((element) => format(element).replace(/^/gm, '  '))
    .join(',\n');

/** What `print(t)` shows in Python. */
export function format(tensor: Tensor): string {
  return ownScope(() => {
    if (isNested(tensor)) return `nested_tensor([\n${nestedParts(tensor)}\n])`;
    const { text, details } = contents(tensor);
    return addSuffixes(PREFIX + text, suffixes(tensor, details), tensor.layout === 'sparse_coo');
  });
}
