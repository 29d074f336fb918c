/** Whether the ranks of a group, all of them in Node, call the same collective with tensors that fit. */
import { createHash } from 'node:crypto';
import { native } from '../addon/native';
import { keep } from '../lifetimes/movable';
import { type Tensor, wrap } from '../tensor/tensor';
import { type Call, Kind, reduceOps, type Work } from './kinds';
import { distributedError } from './library';

/** Bytes as a tensor that no scope owns. */
export function bytesTensor(bytes: Uint8Array): Tensor {
  const tensor = keep(wrap(native.newBytes(bytes.length))!);
  if (bytes.length > 0) native.fillBytes(tensor._handle, 0, bytes);
  return tensor;
}

/** What the ranks are about to do. `kind` null: a call of several collectives, whose tensors are its own. */
type Planned = Omit<Work, 'kind'> & { readonly kind: Kind | null };

/** What ranks compare: everything that must not differ, and the elements that each rank sends to and expects of the others. */
interface Facts {
  readonly call: string;
  readonly same: string;
  readonly lists: readonly (readonly number[])[];
  readonly kind: Kind | null;
}

/** Longer texts are compared by their digests, so that one exchange is enough. */
const MAX_SHAPES = 256;
const shortened = (text: string): string =>
  text.length <= MAX_SHAPES
    ? text
    : `${text.slice(0, 64)}… (digest ${createHash('sha256').update(text).digest('base64')})`;

const described = ({ dtype, shape, layout }: Tensor): string =>
  `${dtype}[${shape.join(', ')}]${layout === 'strided' ? '' : ` ${layout}`}`;

/** The elements of the parts of a tensor along its first dimension, by rank. */
function partsOf(tensor: Tensor, splits: readonly number[] | undefined, size: number): number[] {
  const rows = tensor.shape[0]!;
  const row = rows === 0 ? 0 : tensor.numel / rows;
  return splits?.length ? splits.map((count) => count * row) : Array(size).fill(tensor.numel / size);
}

function facts({ fn, group }: Call, { kind, inputs = [], outputs = [], op = 0, root = -1, ...splits }: Planned): Facts {
  const call = `${fn.slice('distributed.'.length)}, op ${reduceOps[op]}, root ${root}`;
  if (kind === Kind.AllToAll || kind === Kind.ReduceScatter) {
    const lists = [inputs, outputs].map((list) => list.map((tensor) => tensor.numel));
    return { call, same: `${inputs.length} tensors of ${inputs[0]?.dtype}`, lists, kind };
  }
  if (kind === Kind.AllToAllSingle) {
    const sent = partsOf(inputs[0]!, splits.inputSplits, group.size);
    const expected = partsOf(outputs[0]!, splits.outputSplits, group.size);
    return { call, same: `a tensor of ${inputs[0]!.dtype}`, lists: [sent, expected], kind };
  }
  // Of lists that only one rank passes, the elements have the shape of every rank's tensor.
  const one = kind === Kind.Scatter ? outputs : inputs;
  return { call, same: shortened(one.map(described).join(' ')), lists: [], kind };
}

/** Why the ranks' calls do not fit, or null. All ranks come to the same result. */
function misfit(all: readonly Facts[], ranks: readonly number[]): string | null {
  const first = all[0]!;
  for (const [i, { call, same, lists }] of all.entries()) {
    if (call !== first.call) return `rank ${ranks[0]} calls ${first.call}, rank ${ranks[i]} calls ${call}`;
    if (same !== first.same) return `rank ${ranks[0]} has ${first.same}, rank ${ranks[i]} has ${same}`;
    if (first.kind === Kind.ReduceScatter && lists[0]!.some((size) => size !== first.lists[0]![0])) {
      return `rank ${ranks[i]} has tensors of ${lists[0]!.join(', ')} elements, expected ${first.lists[0]![0]} in each`;
    }
    if (first.kind !== Kind.AllToAll && first.kind !== Kind.AllToAllSingle) continue;
    for (const [j, other] of all.entries()) {
      const [sent, expected] = [lists[0]![j], other.lists[1]![i]];
      if (sent === expected) continue;
      return `rank ${ranks[i]} sends ${sent} elements to rank ${ranks[j]}, which expects ${expected}`;
    }
  }
  return null;
}

/** The bytes in which the facts of a rank fit. */
const FACTS = 512;

/** Throws on all ranks if their calls do not fit. `start` starts a collective of this step. */
export async function agree(step: Call, work: Planned, start: (exchange: Work) => Promise<unknown>): Promise<void> {
  const { group, fn } = step;
  const text = JSON.stringify(facts(step, work));
  const bytes = Buffer.alloc(FACTS);
  const isShort = Buffer.byteLength(text) <= FACTS;
  bytes.write(isShort ? text : '!');
  const own = bytesTensor(bytes);
  const all = Array.from({ length: group.size }, () => bytesTensor(Buffer.alloc(FACTS)));
  try {
    await start({ kind: Kind.AllGather, inputs: [own], outputs: all });
    const texts = all.map((tensor) =>
      Buffer.from(tensor.toTypedArray() as Uint8Array)
        .toString()
        .replace(/\0+$/, ''),
    );
    if (texts.includes('!')) return; // the lists of many ranks are not compared
    const problem = misfit(
      texts.map((each) => JSON.parse(each) as Facts),
      group.ranks,
    );
    if (problem === null) return;
    throw distributedError(fn, `rank ${group.rank} of ${group.size}: the ranks differ: ${problem}`);
  } finally {
    for (const tensor of [own, ...all]) tensor.dispose();
  }
}
