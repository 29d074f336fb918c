/** Whether this rank's own tensors fit a collective: refused before anything is sent, so that the group stays usable. */
import { dtypeCodes } from '../addon/enums';
import { native } from '../addon/native';
import { refusal } from '../errors/errors';
import { memberOf } from './group';
import { type Call, Kind, type Work } from './kinds';
import type { Opaque } from './library';

/** What is read of a tensor, which may be a Proxy of the program. */
interface Form {
  readonly dtype: string;
  readonly device: string;
  readonly shape: readonly number[];
  readonly numel: number;
  readonly strides: readonly number[];
}

/** The dtypes of the backend, for messages. */
const supported = (group: Opaque, kind: Kind): string =>
  [...dtypeCodes]
    .filter(([, code]) => native.distributedSupports(group, code, kind))
    .map(([dtype]) => dtype)
    .join(', ');

const described = ({ dtype, shape }: Form): string => `${dtype}[${shape.join(', ')}]`;

/** The names of the tensors and of the lists in the signatures of collectives.ts. */
const LISTS: { readonly [K in Kind]?: readonly [single: string, list: string] } = {
  [Kind.AllGather]: ['tensor', 'tensorList'],
  [Kind.Gather]: ['tensor', 'gatherList'],
  [Kind.Scatter]: ['tensor', 'scatterList'],
  [Kind.ReduceScatter]: ['output', 'inputList'],
};

/** A list has one tensor for each rank, each with the dtype and the size of the single one. NCCL may take other sizes. */
function requireList({ fn, group }: Call, kind: Kind, name: string, list: readonly Form[], single: Form): void {
  const { size, backend } = group;
  if (list.length !== size) throw refusal(fn, name, `one tensor for each of the ${size} ranks`, String(list.length));
  list.forEach((form, i) => {
    const isLike =
      kind === Kind.ReduceScatter ? form.numel === single.numel : form.shape.join() === single.shape.join();
    if (form.dtype === single.dtype && (isLike || backend !== 'gloo')) return;
    throw refusal(fn, `${name}[${i}]`, `a tensor ${described(single)}, as the single one`, described(form));
  });
}

/** The parts of a tensor along its first dimension. */
function requireParts(fn: string, name: string, form: Form, splits: readonly number[] | undefined, size: number): void {
  const rows = form.shape[0];
  if (rows === undefined) throw refusal(fn, name, 'a tensor of 1 dimension or more', 'a scalar');
  if (!splits?.length) {
    if (rows % size === 0) return;
    throw refusal(fn, name, `rows that ${size} ranks can share, or ${name}SplitSizes`, `${rows} rows`);
  }
  const sum = splits.reduce((a, b) => a + b, 0);
  if (splits.length === size && sum === rows) return;
  throw refusal(
    fn,
    `${name}SplitSizes`,
    `${size} integers with the sum ${rows}`,
    `${splits.length} with the sum ${sum}`,
  );
}

/** One element in memory for each that is written. */
const overlaps = ({ shape, strides, numel }: Form): boolean =>
  numel > 1 && shape.some((length, i) => length > 1 && strides[i] === 0);

const formOf = (tensor: NonNullable<Work['inputs']>[number]): Form => {
  const { dtype, device, shape, numel } = tensor;
  return { dtype, device, shape, numel, strides: tensor.layout === 'strided' ? tensor.strides : [] };
};

/** Reads the tensors, which may be Proxies of the program, before it uses the group, which their traps may end. */
export function requireFit(call: Call, work: Work): void {
  const { fn, group } = call;
  const { kind, inputSplits, outputSplits } = work;
  const [inputs, outputs] = [(work.inputs ?? []).map(formOf), (work.outputs ?? []).map(formOf)] as const;
  const { _native } = memberOf(fn, group);
  const all = [...inputs, ...outputs];
  for (const { dtype, device } of all) {
    if (group.backend === 'nccl' && !device.startsWith('cuda')) {
      throw refusal(fn, 'tensor', 'a tensor on CUDA, as the backend is nccl', device);
    }
    if (native.distributedSupports(_native, dtypeCodes.get(dtype as never)!, kind)) continue;
    throw refusal(fn, 'tensor', `a dtype of ${group.backend} (${supported(_native, kind)})`, dtype);
  }
  const { size, rank } = group;
  const isWritten = kind === Kind.AllReduce || (kind === Kind.Broadcast ? work.root !== rank : work.root === rank);
  const written = kind === Kind.AllReduce || kind === Kind.Broadcast || kind === Kind.Reduce ? inputs : outputs;
  if ((written === outputs || isWritten) && written.some(overlaps)) {
    throw refusal(fn, 'tensor', 'a tensor whose elements have memory of their own', 'an expanded one: write t.clone()');
  }
  const names = LISTS[kind];
  if (names !== undefined) {
    const lists = kind === Kind.AllGather || kind === Kind.Gather ? outputs : inputs;
    const single = (lists === outputs ? inputs : outputs)[0]!;
    const isPassed = kind === Kind.AllGather || kind === Kind.ReduceScatter || work.root === rank;
    if (isPassed) requireList(call, kind, names[1], lists, single);
  }
  const [input, output] = [inputs[0]!, outputs[0]!];
  const odd =
    kind >= Kind.AllToAll && kind <= Kind.AllToAllSingle ? all.find(({ dtype }) => dtype !== input.dtype) : undefined;
  if (odd !== undefined) throw refusal(fn, 'tensor', `tensors of one dtype (${input.dtype})`, odd.dtype);
  if (kind === Kind.AllGatherIntoTensor && (output.dtype !== input.dtype || output.numel !== size * input.numel)) {
    throw refusal(fn, 'output', `a ${input.dtype} tensor of ${size * input.numel} elements`, described(output));
  }
  if (kind !== Kind.AllToAllSingle) return;
  requireParts(fn, 'input', input, inputSplits, size);
  requireParts(fn, 'output', output, outputSplits, size);
}
