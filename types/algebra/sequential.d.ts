/** Layers in sequence: the result of each goes to the next. */
import type { Tensor } from '../../lib/tensor/tensor';
import type { Mark, Marks, Met, ShapeError } from './core';
import type { HasRule, LayerOut, NameOf } from './layers';

/** What has a call. */
interface Called<G> {
  forward(...inputs: any[]): G;
}

/** The rule of a layer, or `unknown`: a class that extends a layer may have a `forward` of its own, whose result is `any`. */
type RuleOf<M> = M extends Called<infer G> ? (0 extends 1 & G ? unknown : RuleIn<M>) : unknown;
type RuleIn<M> = M extends HasRule<infer R> ? R : unknown;

/** The tensor after one module, or an error. Other modules say what they give in the type of their `forward`. */
type After<T extends Tensor, M> =
  RuleOf<M> extends infer R
    ? R extends readonly unknown[]
      ? LayerOut<T, R> extends infer Given
        ? Given extends ShapeError<infer Message>
          ? ShapeError<`${NameOf<R>}: ${Message}`>
          : Given
        : never
      : M extends Called<infer G>
        ? [0 extends 1 & G ? null : G] extends [Tensor]
          ? G
          : Tensor
        : Tensor
    : never;

/** The tensor after all modules, or the error of one, which its position precedes. */
export type Through<T extends Tensor, Modules, Seen extends unknown[] = []> = Modules extends readonly [
  infer M,
  ...infer Rest,
]
  ? After<T, M> extends infer Given
    ? Given extends ShapeError<infer Message>
      ? ShapeError<`(${Seen['length']}) ${Message}`>
      : // With infer, as the compiler decides a plain condition late where a size is a type parameter.
        Given extends infer Next extends Tensor
        ? Through<Next, Rest, [...Seen, 1]>
        : never
    : never
  : T;

/**
 * What is known of the tensor between two modules, whatever the input: the size of its last dimension, or of its channels
 * before 1, 2 or 3 others.
 */
type Link = readonly [place: 'features' | 'channels1' | 'channels2' | 'channels3', size: unknown];

/** What a layer demands of its input. (Sizes are inferred without a bound, so that type parameters are decided here.) */
type Demanded<R> = R extends readonly ['linear', string, infer In, unknown]
  ? ['features', In]
  : R extends readonly ['conv' | 'convTranspose', string, infer Rank extends 1 | 2 | 3, infer In, ...unknown[]]
    ? [`channels${Rank}`, In]
    : R extends readonly ['channels', string, 4, infer Size]
      ? ['channels2', Size]
      : R extends readonly ['channels', string, 5, infer Size]
        ? ['channels3', Size]
        : R extends readonly ['last' | 'sequence', string, infer Size]
          ? ['features', Size]
          : R extends readonly ['sequential', string, readonly [infer First, ...unknown[]]]
            ? Demanded<RuleOf<First>>
            : unknown;

/** What is known after a layer. */
type Linking<L, R> = R extends readonly ['linear' | 'embedding', string, unknown, infer Size]
  ? ['features', Size]
  : R extends readonly [
        'conv' | 'convTranspose',
        string,
        infer Rank extends 1 | 2 | 3,
        unknown,
        infer Size,
        ...unknown[],
      ]
    ? [`channels${Rank}`, Size]
    : R extends readonly ['same' | 'float' | 'channels' | 'last' | 'sequence' | 'instance', ...unknown[]]
      ? L
      : R extends readonly ['pool' | 'adaptive', string, infer Rank extends 1 | 2 | 3, ...unknown[]]
        ? L extends readonly [`channels${Rank}`, unknown]
          ? L
          : unknown
        : R extends readonly ['sequential', string, infer Modules]
          ? LinkingAll<L, Modules>
          : unknown;
type LinkingAll<L, Modules> = Modules extends readonly [infer M, ...infer Rest]
  ? LinkingAll<Linking<L, RuleOf<M>>, Rest>
  : L;

/** The text of the error where two sizes at the same place differ. */
type Clash<L, D> = L extends Link
  ? D extends readonly [L[0], infer Wanted]
    ? Marks<[L[1] & number, Wanted & number]> extends [infer X extends Mark, infer Y extends Mark]
      ? Met<X, Y> extends [infer _]
        ? unknown
        : `expected ${Y['dim']} ${Word<L[0]>}, got ${X['dim']}`
      : unknown
    : unknown
  : unknown;
type Word<Place> = Place extends 'features' ? 'features' : 'channels';

/** The modules; in place of one that does not fit to those before it, the text that says why. */
export type Linked<
  Modules extends readonly unknown[],
  L = unknown,
  Done extends readonly unknown[] = [],
> = Modules extends readonly [infer M, ...infer Rest]
  ? RuleOf<M> extends infer R
    ? Clash<L, Demanded<R>> extends infer Message extends string
      ? [...Done, `(${Done['length']}) ${NameOf<R>}: ${Message}`, ...Rest]
      : Linked<Rest, Linking<L, R>, [...Done, M]>
    : never
  : [...Done, ...Modules];

export {};
