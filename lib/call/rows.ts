/** Op-table rows of all overloads of an ATen name, for hand-written functions that end in an op. */
import { readRaw } from '../addon/wrappers';

/** In PyTorch's order. Hand-written callers pass only arguments that distinguish the signatures. */
export function rows(name: string): number[] {
  return Object.values(readRaw().raw.aten![name]!);
}
