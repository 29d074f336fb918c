/**
 * The dtypes, sizes and strides of the inputs that a model was compiled for. Its code relies on them for memory accesses, but
 * libtorch has no API for them. Since 2.7, PyTorch writes debug checks of them into the generated source of every model,
 * which is in the package beside the library.
 */
import { dtypeCodes } from '../addon/enums';

export interface Size {
  readonly least: number;
  readonly most: number;
  /** -1 if it depends on other sizes. */
  readonly stride: number;
}

export interface InputForm {
  readonly dtype: string;
  readonly sizes: readonly Size[];
}

const INPUT = /ConstantHandle (\w+) = ConstantHandle\(input_handles\[(\d+)\]\);/g;
const MAX_RANK = 64;

/** By the input's number. Inputs without checks in the source are omitted. */
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
  if (rank > MAX_RANK) return null;
  return {
    dtype,
    sizes: Array.from({ length: rank }, (_, dim) => {
      const bound = least.get(dim) ?? 0;
      return {
        // For every dynamic size, export writes "2 or more", which only means that 0 and 1 were not tried.
        least: sizes.get(dim) ?? (bound <= 2 ? 0 : bound),
        most: Math.min(sizes.get(dim) ?? most.get(dim) ?? Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
        stride: strides.get(dim) ?? -1,
      };
    }),
  };
}

/** In the form of native/models/package_inputs.h: number, dtype and rank of each input, and three numbers per size. */
export const packed = (forms: ReadonlyMap<number, InputForm>): number[] =>
  [...forms].flatMap(([number, { dtype, sizes }]) => [
    ...[number, dtypeCodes.get(dtype)!, sizes.length],
    ...sizes.flatMap(({ least, most, stride }) => [least, most, stride]),
  ]);
