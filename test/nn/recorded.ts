/** Calls of modules that oracle.py recorded, and the same calls here. */
import { untyped } from '../support/torch';

const torch = untyped;
const DEVICE = process.env.LTN_TEST_DEVICE ?? 'cpu';

interface Coded {
  tensor?: number;
  grad?: boolean;
  list?: Value[];
  /** A TransformerEncoderLayer. */
  layer?: { args: Value[]; kwargs: Record<string, Value>; state: Record<string, Value> };
  functional?: string;
  number?: string;
}
export type Value = Coded | string | number | boolean | null;

export interface Case {
  source: string;
  name: string;
  training: boolean;
  /** Whether gradients are recorded. */
  grad: boolean;
  /** Why the case could not be recorded. */
  left?: string;
  args: Value[];
  kwargs: Record<string, Value>;
  text: string;
  state: Record<string, Value>;
  inputs: Value[];
  results: Value[];
  grads: (Value | null)[];
  after: Record<string, Value>;
}

/** A call of torch.nn.init. */
export interface Init {
  function: string;
  shape: number[];
  args: Value[];
  result: Value;
}

/** A call of torch.nn.utils that changes gradients. */
export interface Clip {
  function: string;
  before: Coded;
  args: Value[];
  result: Coded;
  after: Coded;
}

export interface Recorded {
  /** Whether PyTorch's convolutions are right on this machine. */
  convolves: boolean;
  inits: Init[];
  clips: Clip[];
  version: string;
  classes: string[];
  /** Those with `reset_parameters`. */
  resets: string[];
  cases: Case[];
}

const camelCase = (name: string) =>
  name.replace(/(?<=[a-zA-Z0-9])_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

const decodedAll = (values: Record<string, Value>, tensors: any[]): Record<string, any> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, decoded(value, tensors)]));

/** Arguments by position, and those by name in one object. */
function argsOf(args: Value[], kwargs: Record<string, Value>, tensors: any[]): any[] {
  const named = Object.entries(decodedAll(kwargs, tensors)).map(([name, value]) => [camelCase(name), value]);
  const given = args.map((arg) => decoded(arg, tensors));
  return named.length > 0 ? [...given, Object.fromEntries(named)] : given;
}

/** The value here; tensors are new leaves. */
function decoded(value: Value, tensors: any[]): any {
  if (typeof value !== 'object' || value === null) return value;
  if (value.list !== undefined) return value.list.map((item) => decoded(item, tensors));
  if (value.layer !== undefined) {
    const { args, kwargs, state } = value.layer;
    const layer = new torch.nn.TransformerEncoderLayer(...argsOf(args, kwargs, tensors));
    layer.loadStateDict(torch.noGrad(() => decodedAll(state, tensors)));
    return layer;
  }
  if (value.functional !== undefined) return torch.nn.functional[value.functional];
  if (value.number !== undefined) return Number(value.number.replace('inf', 'Infinity'));
  const leaf = tensors[value.tensor!].detach().clone().to(DEVICE);
  return value.grad ? leaf.requiresGrad_() : leaf;
}

const flat = (value: any): any[] =>
  value instanceof torch.Tensor ? [value] : Array.isArray(value) ? value.flatMap(flat) : [];

export const bytesOf = (tensor: any): Buffer => {
  const dense = (tensor.layout === 'strided' ? tensor.detach() : tensor.detach().toDense()).cpu();
  const { buffer, byteOffset, byteLength } = dense.toTypedArray() as Uint8Array;
  return Buffer.from(buffer, byteOffset, byteLength);
};

/** What differs, to the bit; undefined for equal tensors. */
function difference(got: any, expected: Value | null, tensors: any[]): string | undefined {
  if (expected === null || got === null || got === undefined) {
    return expected === null && (got ?? null) === null ? undefined : `${got} instead of ${JSON.stringify(expected)}`;
  }
  const want = tensors[(expected as Coded).tensor!];
  if (got.dtype !== want.dtype || got.shape.join() !== want.shape.join()) {
    return `${got.dtype}[${got.shape}] instead of ${want.dtype}[${want.shape}]`;
  }
  return bytesOf(got).equals(bytesOf(want)) ? undefined : `other values: ${got} instead of ${want}`.slice(0, 300);
}

/** Python's tensors that this module has no values for: those of lazy modules. */
function stateDifferences(what: string, module: any, expected: Record<string, Value>, tensors: any[]): string[] {
  const state = module.stateDict();
  const keys = Object.keys(state).join();
  if (keys !== Object.keys(expected).join()) return [`${what}: keys ${keys} instead of ${Object.keys(expected)}`];
  return Object.entries(expected).flatMap(([key, value]) => {
    const text = value === null ? undefined : difference(state[key], value, tensors);
    return text === undefined ? [] : [`${what} ${key}: ${text}`];
  });
}

/** JavaScript cannot tell 2 from 2.0, nor a torch.Size from a tuple. */
const plainText = (text: string) => text.replace(/(\d)\.0\b/g, '$1').replace(/torch\.Size\(\[(.*?)\]\)/g, '($1)');

/** Makes the call here, and gives what differs from Python. */
export function differences(one: Case, tensors: any[]): string[] {
  const found: string[] = [];
  const note = (what: string, text: string | undefined) => {
    if (text !== undefined) found.push(`${what}: ${text}`);
  };
  torch.scope(() => {
    const args = argsOf(one.args, one.kwargs, tensors);
    torch.manualSeed(11);
    const module = new torch.nn[one.name](...args);
    module.train(one.training).to(DEVICE);
    if (plainText(String(module)) !== plainText(one.text)) found.push(`text: ${module} instead of ${one.text}`);
    found.push(...stateDifferences('initial', module, one.state, tensors));
    const inputs = one.inputs.map((input) => decoded(input, tensors));
    torch.manualSeed(12);
    // One tensor for all three, as the fused attention requires.
    if ((one.source === 'fused' || one.source === 'masked') && one.name === 'MultiheadAttention')
      inputs.splice(1, 2, inputs[0], inputs[0]);
    const passed = inputs.map((input, i) => (module.inplace === true && i === 0 ? input.clone() : input));
    const before = torch.memory().tensors;
    const output = one.grad ? module.forward(...passed) : torch.noGrad(() => module.forward(...passed));
    const results = flat(output);
    const left = torch.memory().tensors - before - new Set(results.filter((r) => !flat(passed).includes(r))).size;
    if (left > 0) found.push(`${left} tensors left`);
    if (results.length !== one.results.length) found.push(`${results.length} results instead of ${one.results.length}`);
    for (const [i, result] of results.entries())
      note(`result ${i}`, difference(result, one.results[i] ?? null, tensors));
    const roots = results.filter((result) => result.requiresGrad);
    if (roots.length > 0)
      torch.autograd.backward(
        roots,
        roots.map((root) => torch.onesLike(root)),
      );
    const leaves = [...flat(inputs), ...module.parameters()];
    if (leaves.length !== one.grads.length) found.push(`${leaves.length} leaves instead of ${one.grads.length}`);
    else for (const [i, leaf] of leaves.entries()) note(`gradient ${i}`, difference(leaf.grad, one.grads[i]!, tensors));
    found.push(...stateDifferences('later', module, one.after, tensors));
    module.dispose();
    for (const arg of args) if (arg instanceof torch.nn.Module) arg.dispose();
  });
  return found.map((text) => `${one.source} ${one.name} ${one.training ? 'train' : 'eval'}: ${text}`);
}

/** What differs from Python in a call of torch.nn.init. */
export function initDifference({ function: name, shape, args, result }: Init, tensors: any[]): string | undefined {
  return torch.scope(() => {
    const tensor = torch.zeros(shape);
    torch.manualSeed(21);
    const same = torch.nn.init[camelCase(name)](tensor, ...args) === tensor;
    const text = same ? difference(tensor, result, tensors) : 'another tensor';
    return text === undefined ? undefined : `${name}(${JSON.stringify(args)}): ${text}`;
  });
}

/** The same for torch.nn.utils. */
export function clipDifferences({ function: name, before, args, result, after }: Clip, tensors: any[]): string[] {
  return torch.scope(() => {
    const parameters = decoded(before, tensors).map((grad: any) => {
      const parameter = new torch.nn.Parameter(torch.zerosLike(grad));
      parameter.grad = grad;
      return parameter;
    });
    const total = torch.nn.utils[camelCase(name)](parameters, ...args.map((arg) => decoded(arg, tensors)));
    const got = [...flat(total), ...parameters.map((parameter: any) => parameter.grad)];
    const wanted = [...result.list!, ...after.list!];
    const found = got.map((one, i) => difference(one, wanted[i] ?? null, tensors));
    for (const parameter of parameters) parameter.dispose();
    return found.filter((text): text is string => text !== undefined).map((text) => `${name}: ${text}`);
  });
}
