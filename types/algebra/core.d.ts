/**
 * The foundation of the algebra. Its types are decided inside generic functions too, where a dimension may be a type
 * parameter. TypeScript decides a conditional type early or late by these rules, on which everything here rests:
 *  - it waits while the checked type is a bare type parameter (so nothing is decided inside an alias, before it is used);
 *  - it says no only when no value of the type parameters could make it true, where type parameters pass for anything;
 *    but when two types are compared for identity they pass for nothing else. So marks of dimensions are compared, below.
 */
import type { Tensor } from '../../lib/tensor/tensor';
import type { DType, Shape } from '../base';

/** Whether two types are identical. */
export type Equal<X, Y> = (<T>() => T extends [X] ? 1 : 2) extends <T>() => T extends [Y] ? 1 : 2 ? true : false;

/** V, but not before T is known. */
export type Late<T, V> = T extends unknown ? V : never;

declare const shapeError: unique symbol;

/** Replaces the type of an argument that does not fit; its text says why. No value has this type. */
export interface ShapeError<Message extends string> {
  readonly [shapeError]: Message;
}

/** Numbers of dimensions that the algebra follows; shapes with more are dynamic. */
interface Ranks {
  [rank: number]: 'known' | 'dynamic';
  0: 'known';
  1: 'known';
  2: 'known';
  3: 'known';
  4: 'known';
  5: 'known';
  6: 'known';
  7: 'known';
  8: 'known';
}

/** Whether the number of dimensions is known; not for `number[]` and type parameters. */
export type Known<T extends Tensor> = Equal<Ranks[ShapeOf<T>['length']], Late<T, 'known'>>;

interface Integers {
  [n: number]: 'integer';
}

/** A dimension and its mark for comparisons. */
export interface Mark {
  dim: number;
  same: unknown;
  as: unknown;
  literal: unknown;
}

/**
 * The dimensions with their marks: `X['same'] extends Y['as']` is true when both are the same. (Two declarations, as the
 * compiler makes no difference between functions of one.)
 */
export type Marks<S extends readonly number[]> = {
  [K in keyof S]: {
    dim: S[K];
    same: <T>() => T extends [S[K]] ? 1 : 2;
    as: <T>() => T extends [S[K]] ? 1 : 2;
    literal: <T>() => T extends [Integers[S[K]]] ? 1 : 2;
  };
};

/** The marks of 0, 1, -1 and `number`, and of anything that is not a type parameter. */
export type Zero = { same: <T>() => T extends [0] ? 1 : 2 };
export type One = { same: <T>() => T extends [1] ? 1 : 2 };
export type MinusOne = { same: <T>() => T extends [-1] ? 1 : 2 };
export type AnyDim = { same: <T>() => T extends [number] ? 1 : 2 };
export type NoParameter = { literal: <T>() => T extends ['integer'] ? 1 : 2 };

type IsUnion<X, Y = X> = X extends unknown ? ([Y] extends [X] ? false : true) : never;

/** Of two that differ: [number] where one may be one of several numbers, else 'clash'. */
export type Differing<X extends Mark, Y extends Mark> = X extends NoParameter
  ? Y extends NoParameter
    ? true extends IsUnion<X['dim']> | IsUnion<Y['dim']>
      ? [number]
      : 'clash'
    : 'clash'
  : 'clash';

/** Two sizes that must be equal: [the more precise one], or 'clash'. */
export type Met<X extends Mark, Y extends Mark> = X['same'] extends Y['as']
  ? [X['dim']]
  : X extends AnyDim
    ? [Y['dim']]
    : Y extends AnyDim
      ? [X['dim']]
      : Differing<X, Y>;

/** The dimensions as far as they are numbers: `number` for type parameters. */
export type Numbers<S extends Shape> = NumbersOf<Marks<S>>;
type NumbersOf<M extends readonly Mark[]> = M extends readonly [
  infer X extends Mark,
  ...infer R extends readonly Mark[],
]
  ? [X extends NoParameter ? X['dim'] : number, ...NumbersOf<R>]
  : [];

/** "2,3" of [2, 3]. */
export type Joined<S extends readonly unknown[]> = S extends readonly [infer Only extends number]
  ? `${Only}`
  : S extends readonly [infer Head extends number, ...infer Rest]
    ? `${Head},${Joined<Rest>}`
    : '';

/** "[2,3]", for messages. */
export type Shown<S extends readonly unknown[]> = `[${Joined<S>}]`;

/** The shape, or a dynamic one for an error: the call is already refused. */
export type Settled<R> = R extends readonly [...infer L extends Shape] ? L : Shape;

/** What an argument must be besides its own type: nothing more, or an error that no argument is. */
export type Refused<R> = R extends ShapeError<infer Message> ? ShapeError<Message> : unknown;

/** What a list of numbers that are passed one by one must be. */
export type AtLeastOne<List extends readonly unknown[]> = List extends readonly []
  ? ShapeError<'expected at least one number, got none'>
  : unknown;

/** The first of two checks that refuses, or neither. */
export type FirstOf<A, B> = [A] extends [ShapeError<string>] ? A : B;

/**
 * A tensor's type, or where a check refuses it the sentence that says why, which then stands in the place of the parameter's
 * type: the compiler says it once. (Beside the type, `T & Check`, it would say it again for each part.)
 */
export type Fits<T, Check> = [Check] extends [ShapeError<infer Message>] ? Message : T;

/**
 * Of small interfaces: the compiler compares what `T['dtype']` asks for with every member of the type, and Tensor has 1,500.
 */
export type DTypeOf<T extends { readonly dtype: DType }> = T['dtype'];
export type ShapeOf<T extends { readonly shape: Shape }> = T['shape'];

/** A tensor of a dtype and shape that a rule gives: they are what they must be, which costs too much to prove for each op. */
export type TensorOf<D, S = Shape> = {
  // @ts-expect-error: the bounds of D and S
  tensor: Tensor<D, S>;
}['tensor'];

/**
 * The dtype of a call's result: that of the op, or of what was given as `out`, which libtorch resizes to the result's shape.
 * (Not of whole tensors: asking whether a result is one costs the compiler as much as all else that it does for an op.)
 */
export type OutOr<Out, D> = [Out] extends [never]
  ? D
  : [Out] extends [{ readonly dtype: infer Given extends DType }]
    ? Given
    : never;

export {};
