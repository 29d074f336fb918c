/** torch.nn.utils.rnn: sequences of several lengths. */
import { tensor } from '../../elements/create';
import { argumentError } from '../../errors/errors';
import { ownScope } from '../../lifetimes/scope';
import { isTensor, type Tensor } from '../../tensor/tensor';
import { type Args, flag, float, int, type Kind, orNull, read, text } from '../arguments';
import { aten } from '../ops';
import { a, aTensor, lengthsOf, listOf, tensorsOf } from './kinds';
import { invertPermutation, PackedSequence, type PackedTarget } from './packed';

export { invertPermutation, PackedSequence, type PackedTarget };

type Lengths = Tensor | readonly number[];

/** The lengths as a tensor on the CPU. */
function int64(fn: string, lengths: Lengths): Tensor {
  if (!isTensor(lengths)) return tensor(lengths, { dtype: 'int64' }) as Tensor;
  if (lengths.ndim !== 1) throw argumentError(`nn.utils.rnn.${fn}`, 'lengths', 'a Tensor of 1 dimension', lengths);
  return lengths.to('int64') as Tensor;
}

const packing = { input: aTensor, lengths: lengthsOf, batchFirst: flag(false), enforceSorted: flag(true) };

/** Packs a batch that was padded to one length: `[length, batch, …]`, or `[batch, length, …]` with `batchFirst`. */
export function packPaddedSequence(
  ...passed: Args<[input: Tensor, lengths: Lengths, batchFirst?: boolean, enforceSorted?: boolean], typeof packing>
): PackedSequence {
  const given = read('utils.rnn.packPaddedSequence', packing, passed);
  const { batchFirst, enforceSorted } = given;
  return ownScope(() => {
    let { input } = given;
    let lengths = int64('packPaddedSequence', given.lengths);
    let order: Tensor | null = null;
    if (!enforceSorted) {
      const [sorted, indices] = aten.sort(lengths, { dim: -1, descending: true }) as [Tensor, Tensor];
      lengths = sorted;
      order = indices.device === input.device ? indices : (indices.to(input.device as never) as Tensor);
      input = input.indexSelect(batchFirst ? 0 : 1, order) as Tensor;
    }
    const [data, batchSizes] = aten._packPaddedSequence(input, lengths, batchFirst) as [Tensor, Tensor];
    return new PackedSequence(data, batchSizes, order);
  });
}

const padding = {
  sequence: a('a PackedSequence', PackedSequence),
  batchFirst: flag(false),
  paddingValue: float(0),
  totalLength: orNull(int()),
};

/** The padded batch of packed sequences, in their first order, and their lengths. */
export function padPackedSequence(
  ...passed: Args<
    [sequence: PackedSequence, batchFirst?: boolean, paddingValue?: number, totalLength?: number | null],
    typeof padding
  >
): [padded: Tensor, lengths: Tensor] {
  const { sequence, batchFirst, paddingValue, totalLength } = read('utils.rnn.padPackedSequence', padding, passed);
  const { data, batchSizes, unsortedIndices } = sequence;
  const longest = batchSizes.shape[0]!;
  if (totalLength !== null && totalLength < longest) {
    const expected = `at least the length of the longest sequence, ${longest}`;
    throw argumentError('nn.utils.rnn.padPackedSequence', 'totalLength', expected, totalLength);
  }
  return ownScope((): [Tensor, Tensor] => {
    const [padded, lengths] = aten._padPackedSequence(
      data,
      batchSizes,
      batchFirst,
      paddingValue,
      totalLength ?? longest,
    ) as [Tensor, Tensor];
    if (unsortedIndices === null) return [padded, lengths];
    return [
      padded.indexSelect(batchFirst ? 0 : 1, unsortedIndices) as Tensor,
      lengths.indexSelect(0, unsortedIndices.to('cpu' as never) as Tensor) as Tensor,
    ];
  });
}

const padded = {
  sequences: tensorsOf,
  batchFirst: flag(false),
  paddingValue: float(0),
  paddingSide: text<'left' | 'right'>('right', ['left', 'right']),
};

/** Sequences `[length, …]` as one batch, padded to the longest length. `paddingSide: 'left'` needs libtorch 2.6. */
export function padSequence(
  ...passed: Args<
    [sequences: Tensor | Iterable<Tensor>, batchFirst?: boolean, paddingValue?: number, paddingSide?: 'left' | 'right'],
    Omit<typeof padded, 'sequences'> & { sequences: Kind<Tensor | Iterable<Tensor>> }
  >
): Tensor {
  const { sequences, batchFirst, paddingValue, paddingSide } = read('utils.rnn.padSequence', padded, passed);
  return ownScope(() => {
    return aten.padSequence(
      listOf(sequences),
      batchFirst,
      paddingValue,
      ...(paddingSide === 'right' ? [] : [paddingSide]),
    ) as Tensor;
  });
}

const unpadding = { paddedSequences: aTensor, lengths: lengthsOf, batchFirst: flag(false) };

/** The sequences of a padded batch. */
export function unpadSequence(
  ...passed: Args<[paddedSequences: Tensor, lengths: Lengths, batchFirst?: boolean], typeof unpadding>
): Tensor[] {
  const { paddedSequences, lengths, batchFirst } = read('utils.rnn.unpadSequence', unpadding, passed);
  if (paddedSequences.ndim < 2) {
    throw argumentError(
      'nn.utils.rnn.unpadSequence',
      'paddedSequences',
      'a Tensor of 2 or more dimensions',
      paddedSequences,
    );
  }
  return ownScope(() => {
    const batch = batchFirst ? paddedSequences : (paddedSequences.transpose(0, 1) as Tensor);
    const counts = [...int64('unpadSequence', lengths).toTypedArray()].map(Number);
    return counts
      .slice(0, batch.shape[0])
      .map((count, i) => batch.select(0, i).slice(0, 0, Math.max(0, count)).clone() as Tensor);
  });
}

const packingList = { sequences: tensorsOf, enforceSorted: flag(true) };

/** Packs a list of sequences `[length, …]`. */
export function packSequence(
  ...passed: Args<
    [sequences: Iterable<Tensor>, enforceSorted?: boolean],
    { sequences: Kind<Iterable<Tensor>>; enforceSorted: typeof packingList.enforceSorted }
  >
): PackedSequence {
  const { sequences, enforceSorted } = read('utils.rnn.packSequence', packingList, passed);
  return ownScope(() => {
    const list = listOf(sequences);
    const lengths = list.map((one) => one.shape[0] ?? 0);
    return packPaddedSequence(padSequence(list), lengths, { enforceSorted });
  });
}

/** The sequences of a pack. */
export function unpackSequence(packedSequences: PackedSequence): Tensor[] {
  return ownScope(() => {
    const [batch, lengths] = padPackedSequence(packedSequences, true);
    return unpadSequence(batch, lengths, true);
  });
}
