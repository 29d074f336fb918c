/** Models as files: `torch.jit.save(model, path)` and `model.save(path)`. */
import type { ScriptModule } from '../../types/generated/classes';
import { native } from '../addon/native';
import { type FilePath, pathOf } from '../files/paths';
import { writeWhole } from '../files/write';
import type { Module } from '../nn/module';
import { demandModel, type Model } from './model';

export function saveModel(fn: string, model: Model, path: FilePath): void {
  const target = pathOf(fn, 'path', path);
  const handle = model._live();
  writeWhole(target, (file) => file.putBy((descriptor) => native.modelSave(handle, descriptor)));
}

/**
 * Writes a model, given as such or as its Module, as Python's `torch.jit.save` does, for `torch.jit.load` here and in Python. The
 * file is whole or unchanged, as with `torch.save`.
 *
 * @throws ERR_TORCH_MODEL if libtorch cannot save it, such as one of `optimizeForInference`
 */
export function save(model: ScriptModule | Module, path: FilePath): void {
  saveModel('jit.save', demandModel('jit.save', model), path);
}
