/** Op-table rows of all overloads of an ATen name, for hand-written functions that end in an op. */
import { raw } from './wrappers';

/** In PyTorch's order codegen tries them; by hand-written callers only signatures that tell them apart are passed. */
export function rows(name: string): number[] {
  return Object.values(raw.aten![name]!);
}
