/**
 * Rewords libtorch's messages for JavaScript: they use Python's names, and some are for PyTorch developers. One table;
 * test/misuse/libtorch-text.test.ts provokes every entry. Runs only for errors and warnings.
 */

import { readTable } from '../addon/wrappers';
import { reword } from '../errors/errors';
import { deviceHint } from './hints';
import { camelCase } from './signature';

export interface Translation {
  readonly name: string;
  readonly pattern: RegExp;
  readonly to: string | ((...match: string[]) => string);
}

/** dtypes by libtorch's names. */
const scalarTypes: Readonly<Record<string, string>> = {
  Byte: 'uint8',
  Char: 'int8',
  Short: 'int16',
  Int: 'int32',
  Long: 'int64',
  Half: 'float16',
  Float: 'float32',
  Double: 'float64',
  ComplexHalf: 'complex32',
  ComplexFloat: 'complex64',
  ComplexDouble: 'complex128',
  Bool: 'bool',
  BFloat16: 'bfloat16',
  UInt16: 'uint16',
  UInt32: 'uint32',
  UInt64: 'uint64',
  QInt8: 'qint8',
  QUInt8: 'quint8',
  QInt32: 'qint32',
};
const scalarType = Object.keys(scalarTypes).join('|');

/** dtypes by C++ type names. */
const cppTypes: Readonly<Record<string, string>> = {
  'unsigned char': 'uint8',
  'signed char': 'int8',
  short: 'int16',
  'short int': 'int16',
  int: 'int32',
  long: 'int64',
  'long int': 'int64',
  'c10::Half': 'float16',
  'c10::BFloat16': 'bfloat16',
  float: 'float32',
  double: 'float64',
  bool: 'bool',
  'c10::complex<float>': 'complex64',
  'c10::complex<double>': 'complex128',
};
const cppType = Object.keys(cppTypes)
  .sort((a, b) => b.length - a.length)
  .join('|');

/** Names that are neither ops nor their arguments. */
const handWritten = [
  'noGrad',
  'enableGrad',
  'inferenceMode',
  'retainGraph',
  'createGraph',
  'allowUnused',
  'gradFn',
  'packPaddedSequence',
  'packSequence',
  'enforceSorted',
  'findUnusedParameters',
];

/** The camelCase names of this library, for translating words with underscores. */
let known: Set<string> | undefined;
function knownNames(): Set<string> {
  if (known !== undefined) return known;
  known = new Set(handWritten);
  // " name type" of each parameter: see decodeSignature().
  for (const [name, , code] of readTable().table) {
    known.add(camelCase(name.split('.')[0]!));
    for (const part of code.split('=>')[0]!.split('|'))
      known.add(camelCase(part.split(' ')[0]!.replace(/^[*>!~]+/, '')));
  }
  return known;
}

function jsName(word: string): string {
  const name = camelCase(word);
  return knownNames().has(name) || knownNames().has(name.replace(/_$/, '')) ? name : word;
}

const INT64 = "; number arrays make float32: pass { dtype: 'int64' }";
const constants: Readonly<Record<string, string>> = { True: 'true', False: 'false', None: 'null' };

/** The backends that libtorch has a kernel for, from its list of registrations, which is mostly fallbacks. */
function onlyFor(registered: string): string {
  const backends = [
    ...registered.matchAll(/^(\w*(?:CPU|CUDA|HIP|XPU|MPS)): registered at \S*\/Register\w+\.cpp:\d+ \[kernel\]/gm),
  ];
  return backends.length === 0 ? '' : `; libtorch has it for ${backends.map(([, name]) => name).join(', ')}`;
}

/**
 * Applied in this order: removals, then rewording, then names. A model's message can be as long as a text that it was
 * given, so no pattern may go on to the end from each place where it could begin.
 */
export const translations: readonly Translation[] = [
  // Irrelevant to callers.
  { name: 'stack', pattern: /\n?Exception raised from [\s\S]*$/, to: '' },
  { name: 'apology', pattern: /(?<!\s)\s*\(Could this error message be improved\?[^)]*\)/, to: '' },
  {
    name: 'allocator',
    pattern: /\[enforce fail at [^\]]*\] (?:err == 0|[^.\n]*)\. (?:DefaultCPUAllocator: )?/,
    to: '',
  },
  {
    name: 'assertion',
    pattern: /^([\s\S]*?)(?<!\s)\s*INTERNAL ASSERT FAILED at "[^"]*":\d+, please report a bug to PyTorch\.\s*/,
    to: 'a check inside libtorch failed ($1): ',
  },
  {
    name: 'backend',
    pattern:
      /(Could not run '[^']*' with arguments from the '[^']*' backend|no fake impl or Meta kernel registered)\. (?:This could be|You may have)[^\n]*((?:\n+\w+: (?:fallthrough )?registered at [^\n]*)*)\n*/,
    to: (_, failure, registered) => `${failure!}${onlyFor(registered ?? '')}`,
  },
  { name: 'issue', pattern: /,? (?:please )?see https:\/\/github\.com\/pytorch\/\S+/, to: '' },

  // What to do instead.
  {
    name: 'indices',
    pattern:
      /^(?=[\s\S]*(?:Expected dtype int32 or int64 for index|Expected dtype int64 for index|Expected a long tensor for index, but got Float|tensors used as indices must be long|scalar types: Long, Int; but got \S*Float|expected scalar type Long but found Float|one_hot is only applicable to index tensor))([\s\S]*?)\.?$/,
    to: `$1${INT64}`,
  },
  {
    name: 'matmul',
    pattern:
      /(expected scalar type (?:Float|Double|Half|BFloat16) but found (?:\w+)|(?:mat1 and mat2|m1 and m2) (?:to have|must have) the same dtype[^\n]*)/,
    to: '$1; t.to(dtype) converts one',
  },
  {
    name: 'C++ type',
    pattern: new RegExp(`(?<=same dtype, but got: )(${cppType}) != (${cppType})`),
    to: (_, a, b) => `${cppTypes[a!]} and ${cppTypes[b!]}`,
  },
  {
    name: 'mean',
    pattern: /(could not infer output dtype\. Input dtype must be either a floating point or complex dtype\. Got: \w+)/,
    to: "$1; t.to('float32') converts",
  },
  {
    name: 'condition',
    pattern: /(expected condition to be a boolean tensor, but got a tensor with dtype \w+)/,
    to: '$1; a.gt(b) and similar ops make one',
  },
  {
    name: 'nothing to differentiate',
    pattern: /element (\d+) of tensors does not require grad and does not have a grad_fn/,
    to: 'tensor $1 does not require grad: no tensor that it was computed from requires grad, or it was computed inside noGrad',
  },
  {
    name: 'not a scalar',
    pattern: /grad can be implicitly created only for scalar outputs/,
    to: '$&; call it on a sum or a mean, or pass { gradient }',
  },
  {
    name: 'in place',
    pattern: /(a (?:view of a )?leaf) Variable that requires grad is (?:being )?used in an in-place operation\.?/,
    to: '$1 tensor that requires grad is changed in place: do it inside torch.noGrad(() => …)',
  },
  {
    name: 'item',
    pattern: /(a Tensor with \d+ elements cannot be converted to Scalar)/,
    to: '$1; t.toArray() gives all elements',
  },
  {
    name: 'anomaly',
    pattern: /torch\.autograd\.set_detect_anomaly\(True(?:, check_nan=False)?\)/,
    to: 'torch.autograd.setDetectAnomaly(true)',
  },
  {
    name: 'detach',
    pattern:
      /If you want to use a computed variable in a subgraph that doesn't require differentiation use var_no_grad = var\.detach\(\)\.?/,
    to: 't.detach() returns one that does not require grad',
  },
  { name: 'noGrad', pattern: /(?:with )?torch\.no_grad\(\):?/g, to: 'torch.noGrad(() => …)' },
  { name: 'numpy', pattern: /tensor\.numpy\(\)/g, to: 't.toTypedArray()' },

  // Names and values.
  {
    name: 'option',
    pattern: /\b([a-z]+(?:_[a-z]+)*)=(True|False|None)\b/g,
    to: (_, name, value) =>
      name === 'requires_grad' ? `requiresGrad = ${constants[value!]}` : `{ ${jsName(name!)}: ${constants[value!]} }`,
  },
  { name: 'none', pattern: /(?<=must not be |to be |is )None\b/g, to: 'null' },
  {
    name: 'tensor type',
    pattern: new RegExp(`\\b(?:torch\\.(?:cuda\\.)?|CPU|CUDA)?(${scalarType})(Type|Tensor)\\b`, 'g'),
    to: (_, type, kind) => scalarTypes[type!]! + (kind === 'Tensor' ? ' tensor' : ''),
  },
  {
    name: 'dtype',
    pattern: new RegExp(`(?<![\\w.:])(${scalarType})(?![\\w(]| backward)`, 'g'),
    to: (_, type) => scalarTypes[type!]!,
  },
  { name: 'scalar type', pattern: /expected scalar type (\w+) but found (\w+)/, to: 'expected dtype $1, got $2' },
  { name: 'variable', pattern: /\b[Vv]ariable(s?)\b/g, to: 'tensor$1' },
  // Except the dispatcher's names and quoted text.
  {
    name: 'snake case',
    pattern: /"[^"\n]*"|\b\w+::[\w.]+|\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+_?(?!\w)/g,
    to: (word) => (/^[a-z]\w*$/.test(word) ? jsName(word) : word),
  },
];

/** Public names of internal functions. */
const callers = new Map(
  Object.entries({
    'aten::_backward': 'backward',
    fromCopy: 'tensor',
    copyInto: 'toTypedArray',
    strandRequireRead: 'toArray',
    functionBegin: 'autograd.Function.apply',
    fromBorrowed: 'fromTypedArray',
    setRequiresGrad: 'requiresGrad',
    setGrad: 'grad',
    'Generator::new': 'Generator',
    'Generator::set_state': 'Generator.setState',
    'Generator::manual_seed': 'Generator.manualSeed',
  }),
);

/** Codes of errors whose text is from libtorch, not from the addon. */
const codes = new Set(
  ['RUNTIME', 'INDEX', 'VALUE', 'TYPE', 'NOT_IMPLEMENTED', 'LINALG', 'OUT_OF_MEMORY'].map(
    (code) => `ERR_TORCH_${code}`,
  ),
);

/** libtorch's text, translated. */
export function translated(text: string): string {
  let result = text;
  for (const { pattern, to } of translations) {
    result = typeof to === 'string' ? result.replace(pattern, to) : result.replace(pattern, to);
  }
  return result;
}

/** The reducer's advice, by the name of the option here. */
const withOption = (text: string): string =>
  text.replace(/the keyword argument `find_unused_parameters=True`/, '`{ findUnusedParameters: true }`');

/** The message of a native error, with the public name: "aten::mm: … \n  with self: float32[2, 3]". */
export function worded(message: string, code: string): string {
  // The rest describes the call: its tensors, and for a model the line of its code.
  const end = message.search(/(?: \(at [^\n]{1,999}:\d+\))?\n {2}with | \(at [^\n]{1,999}:\d+\)$/);
  const [text, inputs] = end < 0 ? [message, ''] : [message.slice(0, end), message.slice(end)];
  const head = /^(?:\w+::[\w.]+|\w+): /.exec(text)?.[0] ?? '';
  const body = text.slice(head.length);
  const caller = callers.get(head.slice(0, -2));
  const result = codes.has(code) ? translated(body) : withOption(body) + deviceHint(body);
  return (caller === undefined ? head : `${caller}: `) + result + inputs;
}

reword.with = worded;
