/**
 * What a native step gets: handles of the parameters of a group and of their states (native/exports/optim.cpp). One call
 * makes the steps of all, with the ops of `update`; what it does not take is left to `update`.
 */
import type { Tensor } from '../tensor/tensor';
import type { ParamState } from './state-dict';

/** A name in the state, or null for a tensor that the formula does not need. */
type Key = string | null;

/** Reused by all steps: a native step reads it before any other code runs. */
let rows = new Float64Array(1024);

export interface Rows {
  readonly rows: Float64Array;
  readonly count: number;
}

/** A missing tensor is NaN, which a native step refuses if the parameter has a gradient. */
export function rowsOf(params: readonly Tensor[], states: ReadonlyMap<Tensor, ParamState>, keys: readonly Key[]): Rows {
  const count = params.length * (keys.length + 1);
  if (rows.length < count) rows = new Float64Array(2 * count);
  let at = 0;
  for (const parameter of params) {
    rows[at++] = parameter._handle;
    const state = states.get(parameter);
    for (const key of keys) rows[at++] = key === null ? 0 : (state?.[key]?._handle ?? Number.NaN);
  }
  return { rows, count };
}
