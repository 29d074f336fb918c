/**
 * The collectives of torch.distributed. Each is started at once, so that their order is that of the program, and gives a promise.
 * Results are written into the tensors that were passed. Tensors may be disposed meanwhile.
 */
import { argumentError, refusal } from '../errors/errors';
import type { Tensor } from '../tensor/tensor';
import { flagOf, integerOf, optionsOf, tensorListOf, tensorOf, timeoutOf } from './arguments';
import { rankWithin } from './group';
import { distributedError } from './library';
import { type CollectiveOptions, callOf, Kind, opOf, type ReduceOptions, run } from './work';

const COMMON = ['group', 'signal'] as const;

/** The values of the tensor of rank `src` replace those of the other ranks' tensors. */
export async function broadcast(tensor: Tensor, src: number, options: CollectiveOptions = {}): Promise<void> {
  const call = callOf('broadcast', optionsOf('distributed.broadcast', options, COMMON));
  const root = rankWithin(call.fn, 'src', call.group, src);
  return run(call, { kind: Kind.Broadcast, inputs: [tensorOf(call.fn, 'tensor', tensor)], root });
}

/** Each rank's tensor becomes the combination of all. */
export async function allReduce(tensor: Tensor, options: ReduceOptions = {}): Promise<void> {
  const given = optionsOf('distributed.allReduce', options, [...COMMON, 'op']);
  const call = callOf('allReduce', given);
  const op = opOf(call.fn, given.op, tensorOf(call.fn, 'tensor', tensor));
  return run(call, { kind: Kind.AllReduce, inputs: [tensor], op });
}

/** The tensor of rank `dst` becomes the combination of all; those of the others are undefined afterwards. */
export async function reduce(tensor: Tensor, dst: number, options: ReduceOptions = {}): Promise<void> {
  const given = optionsOf('distributed.reduce', options, [...COMMON, 'op']);
  const call = callOf('reduce', given);
  const op = opOf(call.fn, given.op, tensorOf(call.fn, 'tensor', tensor));
  const root = rankWithin(call.fn, 'dst', call.group, dst);
  return run(call, { kind: Kind.Reduce, inputs: [tensor], op, root });
}

/** `tensorList[r]` becomes the tensor of rank r. */
export async function allGather(
  tensorList: readonly Tensor[],
  tensor: Tensor,
  options: CollectiveOptions = {},
): Promise<void> {
  const call = callOf('allGather', optionsOf('distributed.allGather', options, COMMON));
  const outputs = tensorListOf(call.fn, 'tensorList', tensorList);
  return run(call, { kind: Kind.AllGather, inputs: [tensorOf(call.fn, 'tensor', tensor)], outputs });
}

/** The result becomes the tensors of all ranks, one after the other: `size` times as many elements. */
export async function allGatherIntoTensor(
  output: Tensor,
  input: Tensor,
  options: CollectiveOptions = {},
): Promise<void> {
  const call = callOf('allGatherIntoTensor', optionsOf('distributed.allGatherIntoTensor', options, COMMON));
  const outputs = [tensorOf(call.fn, 'output', output)];
  return run(call, { kind: Kind.AllGatherIntoTensor, inputs: [tensorOf(call.fn, 'input', input)], outputs });
}

/** On rank `dst`, `gatherList[r]` becomes the tensor of rank r. The others pass null. */
export async function gather(
  tensor: Tensor,
  gatherList: readonly Tensor[] | null = null,
  dst = 0,
  options: CollectiveOptions = {},
): Promise<void> {
  const call = callOf('gather', optionsOf('distributed.gather', options, COMMON));
  const root = rankWithin(call.fn, 'dst', call.group, dst);
  const isRoot = root === call.group.rank;
  if (!isRoot && gatherList !== null)
    throw argumentError(call.fn, 'gatherList', `null, as ${dst} is another rank`, gatherList);
  const outputs = isRoot ? tensorListOf(call.fn, 'gatherList', gatherList) : [];
  return run(call, { kind: Kind.Gather, inputs: [tensorOf(call.fn, 'tensor', tensor)], outputs, root });
}

/** On rank r the tensor becomes `scatterList[r]` of rank `src`. The others pass null. */
export async function scatter(
  tensor: Tensor,
  scatterList: readonly Tensor[] | null = null,
  src = 0,
  options: CollectiveOptions = {},
): Promise<void> {
  const call = callOf('scatter', optionsOf('distributed.scatter', options, COMMON));
  const root = rankWithin(call.fn, 'src', call.group, src);
  const isRoot = root === call.group.rank;
  if (!isRoot && scatterList !== null) {
    throw argumentError(call.fn, 'scatterList', `null, as ${src} is another rank`, scatterList);
  }
  const inputs = isRoot ? tensorListOf(call.fn, 'scatterList', scatterList) : [];
  return run(call, { kind: Kind.Scatter, inputs, outputs: [tensorOf(call.fn, 'tensor', tensor)], root });
}

/** On rank r the result becomes the combination of all ranks' `inputList[r]`. */
export async function reduceScatter(
  output: Tensor,
  inputList: readonly Tensor[],
  options: ReduceOptions = {},
): Promise<void> {
  const given = optionsOf('distributed.reduceScatter', options, [...COMMON, 'op']);
  const call = callOf('reduceScatter', given);
  const op = opOf(call.fn, given.op, tensorOf(call.fn, 'output', output));
  const inputs = tensorListOf(call.fn, 'inputList', inputList);
  return run(call, { kind: Kind.ReduceScatter, inputs, outputs: [output], op });
}

/** On rank r, `outputList[s]` becomes `inputList[r]` of rank s. */
export async function allToAll(
  outputList: readonly Tensor[],
  inputList: readonly Tensor[],
  options: CollectiveOptions = {},
): Promise<void> {
  const call = callOf('allToAll', optionsOf('distributed.allToAll', options, COMMON));
  const outputs = tensorListOf(call.fn, 'outputList', outputList);
  const inputs = tensorListOf(call.fn, 'inputList', inputList);
  for (const [name, list] of Object.entries({ outputList: outputs, inputList: inputs })) {
    if (list.length === call.group.size) continue;
    throw refusal(call.fn, name, `one tensor for each of the ${call.group.size} ranks`, String(list.length));
  }
  return run(call, { kind: Kind.AllToAll, inputs, outputs });
}

export interface AllToAllSingleOptions extends CollectiveOptions {
  /** How many rows come from each rank. Default: equal parts. */
  outputSplitSizes?: readonly number[] | undefined;
  /** How many rows go to each rank. Default: equal parts. */
  inputSplitSizes?: readonly number[] | undefined;
}

function splitsOf(fn: string, name: string, value: unknown): number[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw argumentError(fn, name, 'an array of integers', value);
  return value.map((size, i) => integerOf(fn, `${name}[${i}]`, size, 0));
}

/** The parts of the input, along its first dimension, go to the ranks in order; those that come are put together. */
export async function allToAllSingle(
  output: Tensor,
  input: Tensor,
  options: AllToAllSingleOptions = {},
): Promise<void> {
  const names = [...COMMON, 'outputSplitSizes', 'inputSplitSizes'] as const;
  const given = optionsOf('distributed.allToAllSingle', options, names);
  const call = callOf('allToAllSingle', given);
  return run(call, {
    kind: Kind.AllToAllSingle,
    inputs: [tensorOf(call.fn, 'input', input)],
    outputs: [tensorOf(call.fn, 'output', output)],
    inputSplits: splitsOf(call.fn, 'inputSplitSizes', given.inputSplitSizes),
    outputSplits: splitsOf(call.fn, 'outputSplitSizes', given.outputSplitSizes),
  });
}

export interface PointOptions extends CollectiveOptions {
  /** A `recv` gets what was sent with the same tag. Default: 0. */
  tag?: number | undefined;
}

/** Sends the tensor to rank `dst`; resolves when it may be changed again. */
export async function send(tensor: Tensor, dst: number, options: PointOptions = {}): Promise<void> {
  const given = optionsOf('distributed.send', options, [...COMMON, 'tag']);
  const call = callOf('send', given);
  const root = rankWithin(call.fn, 'dst', call.group, dst);
  if (root === call.group.rank) throw argumentError(call.fn, 'dst', 'another rank', dst);
  const tag = given.tag === undefined ? 0 : integerOf(call.fn, 'tag', given.tag, 0, 2 ** 31 - 1);
  await run(call, { kind: Kind.Send, inputs: [tensorOf(call.fn, 'tensor', tensor)], root, tag });
}

/** Fills the tensor with what rank `src` sends (null: any rank); resolves with the sender's rank. */
export async function recv(tensor: Tensor, src: number | null = null, options: PointOptions = {}): Promise<number> {
  const given = optionsOf('distributed.recv', options, [...COMMON, 'tag']);
  const call = callOf('recv', given);
  const root = src === null ? -1 : rankWithin(call.fn, 'src', call.group, src);
  if (root === call.group.rank) throw argumentError(call.fn, 'src', 'another rank', src);
  const tag = given.tag === undefined ? 0 : integerOf(call.fn, 'tag', given.tag, 0, 2 ** 31 - 1);
  const work = { kind: Kind.Recv, outputs: [tensorOf(call.fn, 'tensor', tensor)], root, tag };
  const source = await run<number>(call, work);
  return call.group.ranks[src === null ? source : root]!;
}

/** Resolves when all ranks have called it. */
export async function barrier(options: CollectiveOptions = {}): Promise<void> {
  return run(callOf('barrier', optionsOf('distributed.barrier', options, COMMON)), { kind: Kind.Barrier });
}

export interface MonitoredBarrierOptions extends CollectiveOptions {
  /** Default: the group's. */
  timeoutMs?: number | undefined;
  /** Whether rank 0's error names all ranks that did not come, not only the first. Default: true. */
  waitAllRanks?: boolean | undefined;
}

/** A barrier whose error, past the time limit, names on rank 0 the ranks that did not come. Gloo only. */
export async function monitoredBarrier(options: MonitoredBarrierOptions = {}): Promise<void> {
  const given = optionsOf('distributed.monitoredBarrier', options, [...COMMON, 'timeoutMs', 'waitAllRanks']);
  const call = callOf('monitoredBarrier', given);
  if (call.group.backend !== 'gloo') throw distributedError(call.fn, `${call.group.backend} has no monitored barrier`);
  const timeoutMs = timeoutOf(call.fn, given.timeoutMs, call.group.timeoutMs);
  const allRanks = flagOf(call.fn, 'waitAllRanks', given.waitAllRanks, true);
  await run(call, { kind: Kind.MonitoredBarrier, timeoutMs, allRanks });
}
