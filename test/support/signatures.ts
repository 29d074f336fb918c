/** The library's tables of signatures, and arguments.cjs, which makes arguments for them, with types. */
import * as path from 'node:path';
import type { Signature } from '../../lib/call/signature';
import { LIB } from './torch';

export interface Variant {
  shape: number[];
  dtype: string;
}

interface ArgumentMaker {
  /** All arguments in schema order; `sparingly` leaves the optional ones undefined. */
  values(signature: Signature, variant: Variant, sparingly?: boolean): any[];
  value(param: Signature['params'][number], variant: Variant): any;
  /** The arguments as torch.ops takes them. */
  rawCall(signature: Signature, values: unknown[]): unknown[];
  release(values: unknown[]): void;
}

const { argumentMaker, variants: all } = require('./arguments.cjs');
export const maker: ArgumentMaker = argumentMaker(LIB);
export const variants: Variant[] = all;

export const { signature } = require(path.join(LIB, 'call/signature.js')) as { signature(number: number): Signature };
export const { raw } = require(path.join(LIB, 'generated/raw.js')) as {
  raw: Record<string, Record<string, Record<string, number>>>;
};

export interface Row {
  /** "add.Tensor", "relu.default" */
  key: string;
  name: string;
  overload: string;
  number: number;
}

/** Every declaration. */
export const rows: Row[] = Object.entries(raw.aten!).flatMap(([name, overloads]) =>
  Object.entries(overloads).map(([overload, number]) => ({ key: `${name}.${overload}`, name, overload, number })),
);
