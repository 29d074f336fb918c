/** The addon. lib/addon/load.ts chooses and loads it; lib/addon/interface.ts has the types of its exports. */
import { completeNative } from '../errors/errors';
import { shareTurn } from '../errors/restoring';
import { FlagOffset } from '../generated/codes';
import type { Native } from './interface';
import { load } from './load';

export type { Native, NativeOp } from './interface';
export type { MemoryReport, MemoryTotals } from './memory';

const { addon, binding, libtorch, otherAddon } = load();

/** The folder of the JavaScript generated for this addon. */
export const generatedFolder = binding.generated;
/** The sonames of the installed libtorch's libraries: 'libtorch_cpu.so.2.6'. */
export const libtorchNames: readonly string[] = Object.values(libtorch.sonames);
/** The addon's file. */
export const addonFile = binding.addon;
export { otherAddon };

function prepare(native: Native): Native {
  native.flags = new Uint32Array(native.flagsBuffer);
  native.result = new Float64Array(native.flagsBuffer, FlagOffset.Result, 1);
  native.ints = new Float64Array(native.flagsBuffer, FlagOffset.Ints);
  native.setErrorSink(completeNative);
  shareTurn(native);
  return native;
}

export const native: Native = prepare(addon as Native);
