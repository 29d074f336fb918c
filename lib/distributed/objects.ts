/**
 * Collectives of JavaScript values, as structured clones (`v8.serialize`): what postMessage copies, and never code. All ranks
 * that take part run Node: Python's object forms send pickles.
 */
import { deserialize, serialize } from 'node:v8';
import { native } from '../addon/native';
import { argumentError } from '../errors/errors';
import { keep } from '../lifetimes/movable';
import { type Tensor, wrap } from '../tensor/tensor';
import { bytesTensor } from './agreement';
import { integerOf, optionsOf } from './arguments';
import type { PointOptions } from './collectives';
import { rankWithin } from './group';
import { type Call, Kind } from './kinds';
import { distributedError } from './library';
import { inTurn } from './turns';
import { type CollectiveOptions, callOf, inSteps, run } from './work';

const COMMON = ['group', 'signal'] as const;

const emptyOf = (length: number): Tensor => keep(wrap(native.newBytes(length))!);

const bytesIn = (tensor: Tensor): Uint8Array => tensor.toTypedArray() as Uint8Array;

/** The call of an object form. Its bytes are tensors on the CPU. */
function objectCall(name: string, given: { group?: unknown; signal?: unknown }): Call {
  const call = callOf(name, given);
  const { backend } = call.group;
  if (backend === 'gloo') return call;
  throw distributedError(call.fn, `${backend} moves no objects: pass a group of newGroup(null, { backend: 'gloo' })`);
}

/** Calls `use` with tensors that are freed afterwards; a collective in progress has its own references. */
async function using<T>(tensors: readonly Tensor[], use: () => Promise<T>): Promise<T> {
  try {
    return await use();
  } finally {
    for (const tensor of tensors) tensor.dispose();
  }
}

function lengthBytes(length: number): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(length);
  return bytes;
}
const lengthIn = (tensor: Tensor): number => Buffer.from(bytesIn(tensor)).readDoubleLE();

/** What cannot be copied is refused before anything is sent. */
function bytesOf(fn: string, name: string, value: unknown): Uint8Array {
  try {
    return serialize(value);
  } catch (error) {
    throw Object.assign(argumentError(fn, name, 'a value that structured clone can copy', value), { cause: error });
  }
}

function valueIn(bytes: Uint8Array): unknown {
  return deserialize(bytes);
}

/** The bytes of all ranks; on the others, if `root` is given, nothing. */
async function gatherBytes(call: Call, bytes: Uint8Array, root?: number): Promise<Uint8Array[] | null> {
  const { size, rank } = call.group;
  const lengths = Array.from({ length: size }, () => emptyOf(8));
  const own = bytesTensor(lengthBytes(bytes.length));
  const counts = await using([...lengths, own], async () => {
    await run(call, { kind: Kind.AllGather, inputs: [own], outputs: lengths });
    return lengths.map(lengthIn);
  });
  const longest = Math.max(...counts);
  const padded = new Uint8Array(longest);
  padded.set(bytes);
  const isRoot = root === undefined || root === rank;
  const parts = isRoot ? Array.from({ length: size }, () => emptyOf(longest)) : [];
  const sent = bytesTensor(padded);
  return using([...parts, sent], async () => {
    const work = { inputs: [sent], outputs: parts };
    await run(call, root === undefined ? { kind: Kind.AllGather, ...work } : { kind: Kind.Gather, ...work, root });
    return isRoot ? parts.map((part, i) => bytesIn(part).subarray(0, counts[i])) : null;
  });
}

async function broadcastBytes(call: Call, bytes: Uint8Array | null, root: number): Promise<Uint8Array> {
  const length = bytes === null ? emptyOf(8) : bytesTensor(lengthBytes(bytes.length));
  const count = await using([length], async () => {
    await run(call, { kind: Kind.Broadcast, inputs: [length], root });
    return lengthIn(length);
  });
  const data = bytes === null ? emptyOf(count) : bytesTensor(bytes);
  return using([data], async () => {
    await run(call, { kind: Kind.Broadcast, inputs: [data], root });
    return bytesIn(data);
  });
}

/** The value of rank `src`, on all ranks. The others' values are not sent. */
export async function broadcastObject<T>(value: T, src: number, options: CollectiveOptions = {}): Promise<T> {
  const call = objectCall('broadcastObject', optionsOf('distributed.broadcastObject', options, COMMON));
  const root = rankWithin(call.fn, 'src', call.group, src);
  const bytes = root === call.group.rank ? bytesOf(call.fn, 'value', value) : null;
  return valueIn(await inSteps(call, root, (step) => broadcastBytes(step, bytes, root))) as T;
}

/** The values of all ranks, in their order. */
export async function allGatherObject<T>(value: T, options: CollectiveOptions = {}): Promise<T[]> {
  const call = objectCall('allGatherObject', optionsOf('distributed.allGatherObject', options, COMMON));
  const bytes = bytesOf(call.fn, 'value', value);
  const all = await inSteps(call, -1, (step) => gatherBytes(step, bytes));
  return all!.map((each) => valueIn(each) as T);
}

/** On rank `dst` the values of all ranks, in their order; null on the others. */
export async function gatherObject<T>(value: T, dst = 0, options: CollectiveOptions = {}): Promise<T[] | null> {
  const call = objectCall('gatherObject', optionsOf('distributed.gatherObject', options, COMMON));
  const root = rankWithin(call.fn, 'dst', call.group, dst);
  const bytes = bytesOf(call.fn, 'value', value);
  const all = await inSteps(call, root, (step) => gatherBytes(step, bytes, root));
  return all === null ? null : all.map((each) => valueIn(each) as T);
}

/** On rank r the value `values[r]` of rank `src`. The others pass null. */
export async function scatterObject<T>(
  values: readonly T[] | null,
  src = 0,
  options: CollectiveOptions = {},
): Promise<T> {
  const call = objectCall('scatterObject', optionsOf('distributed.scatterObject', options, COMMON));
  const { group, fn } = call;
  const root = rankWithin(fn, 'src', group, src);
  const isRoot = root === group.rank;
  if (isRoot && (!Array.isArray(values) || values.length !== group.size)) {
    throw argumentError(fn, 'values', `an array of ${group.size} values`, values);
  }
  const parts = isRoot ? values!.map((value, i) => bytesOf(fn, `values[${i}]`, value)) : null;
  return inSteps(call, root, async (step) => {
    const lengths = parts === null ? null : new Uint8Array(Float64Array.from(parts, (part) => part.length).buffer);
    const said = await broadcastBytes(step, lengths, root);
    const counts = new Float64Array(said.slice().buffer);
    const longest = Math.max(...counts);
    const padded = (parts ?? []).map((part) => {
      const bytes = new Uint8Array(longest);
      bytes.set(part);
      return bytesTensor(bytes);
    });
    const own = emptyOf(longest);
    return using([...padded, own], async () => {
      await run(step, { kind: Kind.Scatter, inputs: padded, outputs: [own], root });
      return valueIn(bytesIn(own).subarray(0, counts[group.rank])) as T;
    });
  });
}

function pointOf(name: string, argument: string, rank: unknown, options: PointOptions) {
  const given = optionsOf(`distributed.${name}`, options, [...COMMON, 'tag']);
  const call = objectCall(name, given);
  const root = rankWithin(call.fn, argument, call.group, rank);
  if (root === call.group.rank) throw argumentError(call.fn, argument, 'another rank', rank);
  const tag = given.tag === undefined ? 0 : integerOf(call.fn, 'tag', given.tag, 0, 2 ** 31 - 1);
  // Messages of one sender with one tag arrive in their order, so nothing else has to wait.
  return { call: { ...call, isStep: true }, root, tag };
}

/** Sends a value to rank `dst`. */
export async function sendObject(value: unknown, dst: number, options: PointOptions = {}): Promise<void> {
  const { call, root, tag } = pointOf('sendObject', 'dst', dst, options);
  const bytes = bytesOf(call.fn, 'value', value);
  const send = (step: Call, message: Uint8Array) => {
    const tensor = bytesTensor(message);
    return using([tensor], () => run(step, { kind: Kind.Send, inputs: [tensor], root, tag }));
  };
  await inTurn(
    call,
    { kind: 'send', root, tag },
    (step) => send(step, lengthBytes(bytes.length)),
    (step) => send(step, bytes),
  );
}

/** The value that rank `src` sends. */
export async function recvObject(src: number, options: PointOptions = {}): Promise<unknown> {
  const { call, root, tag } = pointOf('recvObject', 'src', src, options);
  const recv = <T>(step: Call, size: number, read: (message: Tensor) => T): Promise<T> => {
    const message = emptyOf(size);
    return using([message], async () => {
      await run(step, { kind: Kind.Recv, outputs: [message], root, tag });
      return read(message);
    });
  };
  const bytes = await inTurn(
    call,
    { kind: 'recv', root, tag },
    (step) => recv(step, 8, lengthIn),
    (step, length) => recv(step, length, bytesIn),
  );
  return valueIn(bytes);
}
