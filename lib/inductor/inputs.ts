/**
 * What a compiled model was compiled for: dtypes, sizes and strides of its inputs. Its code counts on them and reads memory
 * by them; libtorch tells nobody. But from 2.7 on PyTorch writes the checks of a debugging run into every model's source, which
 * lies in the package beside the library, in a form that a program made.
 */
import { dtypeCodes } from '../enums';

export interface Size {
  readonly least: number;
  readonly most: number;
  /** -1: depends on other sizes. */
  readonly stride: number;
}

export interface InputForm {
  readonly dtype: string;
  readonly sizes: readonly Size[];
}

const INPUT = /ConstantHandle (\w+) = ConstantHandle\(input_handles\[(\d+)\]\);/g;
const MOST_RANK = 64;

/** By the input's number. Inputs of which the source does not tell are missing. */
export function inputsOf(source: string): Map<number, InputForm> {
  const forms = new Map<number, InputForm>();
  const found = [...source.matchAll(INPUT)];
  for (const [i, match] of found.entries()) {
    const end = found[i + 1]?.index ?? source.indexOf('run_impl', match.index);
    const form = formOf(match[1]!, source.slice(match.index, end < 0 ? undefined : end));
    if (form !== null) forms.set(Number(match[2]), form);
  }
  return forms;
}

function formOf(name: string, code: string): InputForm | null {
  const dtype = new RegExp(`\\b${name}_expected_dtype = aoti_torch_dtype_(\\w+)\\(\\)`).exec(code)?.[1];
  if (dtype === undefined || !dtypeCodes.has(dtype)) return null;
  const numbers = (pattern: string) => {
    const all = [...code.matchAll(new RegExp(pattern, 'g'))];
    return new Map(all.map(({ groups }) => [Number(groups!.dim), Number(groups!.value)]));
  };
  const sizes = numbers(`if \\((?<value>\\d+) != ${name}_size\\[(?<dim>\\d+)\\]\\)`);
  const least = numbers(`if \\(${name}_size\\[(?<dim>\\d+)\\] < (?<value>\\d+)\\)`);
  const most = numbers(`if \\(${name}_size\\[(?<dim>\\d+)\\] > (?<value>\\d+)\\)`);
  const strides = numbers(`if \\((?<value>\\d+) != ${name}_stride\\[(?<dim>\\d+)\\]\\)`);
  const rank = 1 + Math.max(-1, ...[sizes, least, most, strides].flatMap((map) => [...map.keys()]));
  if (rank > MOST_RANK) return null;
  return {
    dtype,
    sizes: Array.from({ length: rank }, (_, dim) => {
      const bound = least.get(dim) ?? 0;
      return {
        // Export says "2 or more" of every size that may vary, and means that 0 and 1 were not looked at.
        least: sizes.get(dim) ?? (bound <= 2 ? 0 : bound),
        most: Math.min(sizes.get(dim) ?? most.get(dim) ?? Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
        stride: strides.get(dim) ?? -1,
      };
    }),
  };
}

/** As native/models/package_inputs.h reads them: number, dtype and rank of each, and three numbers for each size. */
export const packed = (forms: ReadonlyMap<number, InputForm>): number[] =>
  [...forms].flatMap(([number, { dtype, sizes }]) => [
    ...[number, dtypeCodes.get(dtype)!, sizes.length],
    ...sizes.flatMap(({ least, most, stride }) => [least, most, stride]),
  ]);
