/** Lists of dimensions: selecting by index, splitting, replacing. */
import type { Shape } from '../base';
import type { ShapeError, Shown } from './core';

/** Indices of dimensions, by rank: negative ones count from the end. A tensor without dimensions takes 0 and -1. */
interface Indices {
  0: { '0': 0; '-1': 0 };
  1: { '0': 0; '-1': 0 };
  2: { '0': 0; '1': 1; '-1': 1; '-2': 0 };
  3: { '0': 0; '1': 1; '2': 2; '-1': 2; '-2': 1; '-3': 0 };
  4: { '0': 0; '1': 1; '2': 2; '3': 3; '-1': 3; '-2': 2; '-3': 1; '-4': 0 };
  5: { '0': 0; '1': 1; '2': 2; '3': 3; '4': 4; '-1': 4; '-2': 3; '-3': 2; '-4': 1; '-5': 0 };
  6: { '0': 0; '1': 1; '2': 2; '3': 3; '4': 4; '5': 5; '-1': 5; '-2': 4; '-3': 3; '-4': 2; '-5': 1; '-6': 0 };
  7: {
    '0': 0;
    '1': 1;
    '2': 2;
    '3': 3;
    '4': 4;
    '5': 5;
    '6': 6;
    '-1': 6;
    '-2': 5;
    '-3': 4;
    '-4': 3;
    '-5': 2;
    '-6': 1;
    '-7': 0;
  };
  8: {
    '0': 0;
    '1': 1;
    '2': 2;
    '3': 3;
    '4': 4;
    '5': 5;
    '6': 6;
    '7': 7;
    '-1': 7;
    '-2': 6;
    '-3': 5;
    '-4': 4;
    '-5': 3;
    '-6': 2;
    '-7': 1;
    '-8': 0;
  };
  9: {
    '0': 0;
    '1': 1;
    '2': 2;
    '3': 3;
    '4': 4;
    '5': 5;
    '6': 6;
    '7': 7;
    '8': 8;
    '-1': 8;
    '-2': 7;
    '-3': 6;
    '-4': 5;
    '-5': 4;
    '-6': 3;
    '-7': 2;
    '-8': 1;
    '-9': 0;
  };
}

/** The index that `Dim` means among `S`, `number` where that is not known, or an error. */
export type IndexOf<S extends Shape, Dim> = IndexAmong<S, S['length'], Dim>;

/** The same for a list of `Rank`. */
type IndexAmong<S extends Shape, Rank, Dim> = Dim extends number
  ? number extends Dim
    ? number
    : Rank extends keyof Indices
      ? `${Dim}` extends keyof Indices[Rank]
        ? Indices[Rank][`${Dim}`]
        : ShapeError<`dimension ${Dim} is out of range for shape ${Shown<S>}`>
      : number
  : number;

/** Where a new dimension goes: one more place than there are dimensions. */
export type PlaceOf<S extends Shape, Dim> = IndexAmong<S, [...S, 1]['length'], Dim>;

/** The dimensions before the index. */
export type Before<S extends Shape, I, Out extends Shape = []> = Out['length'] extends I
  ? Out
  : S extends [infer Head extends number, ...infer Rest extends Shape]
    ? Before<Rest, I, [...Out, Head]>
    : Out;

/** The dimensions from the index on. */
export type From<S extends Shape, I, Seen extends unknown[] = []> = Seen['length'] extends I
  ? S
  : S extends [infer _, ...infer Rest extends Shape]
    ? From<Rest, I, [...Seen, 1]>
    : [];

/** Without the first. */
export type Rest<S extends Shape> = S extends [infer _, ...infer R extends Shape] ? R : [];

export type Replaced<S extends Shape, I, X extends number> = [...Before<S, I>, X, ...Rest<From<S, I>>];
export type Without<S extends Shape, I> = [...Before<S, I>, ...Rest<From<S, I>>];
export type Inserted<S extends Shape, I, X extends number> = [...Before<S, I>, X, ...From<S, I>];
export type DimAt<S extends Shape, I> = From<S, I> extends [infer X extends number, ...infer _] ? X : number;

/** As many dimensions, of unknown sizes. */
export type Anonymous<S extends Shape> = { [K in keyof S]: number };

/** The last dimension, and those before it. */
export type Last<S extends Shape> = S extends [...infer _, infer X extends number] ? X : number;
export type Front<S extends Shape> = S extends [...infer F extends Shape, infer _] ? F : [];

/** A list of integers as sizes: anything but a number literal is `number`. */
export type SizesOf<L> = L extends readonly [infer Head extends number, ...infer Rest]
  ? [Head, ...SizesOf<Rest>]
  : L extends readonly [unknown, ...infer Rest]
    ? [number, ...SizesOf<Rest>]
    : L extends readonly []
      ? []
      : Shape;

/** The element for dimension `I` of an argument such as `stride`: one number applies to all. */
export type Each<Given, I extends number, Default extends number> = Given extends number
  ? Given
  : Given extends readonly [infer One]
    ? One extends number
      ? One
      : number
    : Given extends readonly []
      ? Default
      : Given extends readonly unknown[]
        ? I extends keyof Given
          ? Given[I] extends number
            ? Given[I]
            : number
          : number
        : Given extends null | undefined
          ? Default
          : number;

export {};
