/** Checked by `npm run typecheck`, never run: the types of TorchScript models. */
import { expectTypeOf } from 'expect-type';
import type { Module } from '../../lib/nn/module';
import type { Parts, ScriptModule, Tensor } from '../../types';
import torch from '../../types';

const model = torch.jit.load('model.pt', { device: 'cpu' });
declare const x: Tensor;

expectTypeOf(model).toEqualTypeOf<ScriptModule>();
expectTypeOf(model.eval()).toEqualTypeOf<ScriptModule>();
expectTypeOf(model.forward(x)).toEqualTypeOf<Tensor>();
expectTypeOf(
  model.call<{ a: Tensor[] }>('parts', x, [1, null, { k: new Map([[1, 'a']]) }], Int32Array.of(1)).a,
).toEqualTypeOf<Tensor[]>();
expectTypeOf(model.async.forward(x, { signal: new AbortController().signal })).toEqualTypeOf<Promise<Tensor>>();
expectTypeOf(model.async.call<number>('count')).toEqualTypeOf<Promise<number>>();
expectTypeOf(model.namedParameters()).toEqualTypeOf<Record<string, Tensor>>();
expectTypeOf(model.parameters()).toEqualTypeOf<Parts<Tensor>>();
expectTypeOf(model.asModule()).toEqualTypeOf<Module>();
expectTypeOf(model.deepCopy()).toEqualTypeOf<ScriptModule>();
expectTypeOf(model.stateDict()).toEqualTypeOf<Record<string, Tensor>>();
expectTypeOf(model.loadStateDict({}, { strict: false }).missingKeys).toEqualTypeOf<string[]>();
expectTypeOf(torch.jit.save(model, 'model.pt')).toEqualTypeOf<void>();
new torch.nn.Sequential(model.asModule(), new torch.nn.Linear(1, 1));
expectTypeOf(model.methods).toEqualTypeOf<string[]>();
expectTypeOf(model.disposed).toEqualTypeOf<boolean>();
torch.jit.load('model.pt', { codeWhileLoading: 'refuse', maxBytes: 1e9, maxTensors: 1, maxObjects: 1, maxDepth: 1 });
// @ts-expect-error: 'allow' or 'refuse'
torch.jit.load('model.pt', { codeWhileLoading: false });
torch.load('x.pt', { maxBytes: 1e9, maxDepth: 3 });
// What was saved is what the program says, or unknown.
expectTypeOf(torch.load('x.pt')).toBeUnknown();
expectTypeOf(
  torch.load<{ epoch: number }>('x.pt', { device: String(process.env.DEVICE) }).epoch,
).toEqualTypeOf<number>();
expectTypeOf(torch.loadFromStream<number[]>(new Blob([]))).toEqualTypeOf<Promise<number[]>>();
new torch.nn.Linear(1, 1).loadStateDict(torch.load('x.pt'));
torch.npz.load('x.npz', { maxBytes: 1e9, maxTensors: 3 });
torch.load(new URL('file:///x.pt'), { mmap: true });
torch.jit.load(new URL('file:///x.pt'), { mmap: true });
torch.safetensors.load('x', { mmap: true, device: 'cpu' });
torch.safetensors.open(new URL('file:///x'), { mmap: false });
torch.npy.load('x.npy', { mmap: true });
torch.npz.load(new URL('file:///x.npz'), { mmap: true });
torch.save({ x }, new URL('file:///x.pt'));
torch.save('x.pt', { x });
torch.safetensors.save({ x }, 'x', { metadata: { a: 'b' } });
torch.safetensors.save(new URL('file:///x'), { x });
torch.npy.save(x, 'x.npy');
torch.npy.save('x.npy', x);
torch.npz.save({ x }, 'x.npz');
torch.npz.save('x.npz', { x });
// @ts-expect-error: a boolean
torch.load('x.pt', { mmap: 1 });
// @ts-expect-error: a stream cannot be mapped
torch.npy.loadFromStream(new Uint8Array(1), { mmap: true });
// @ts-expect-error: no tensors
torch.safetensors.save('x', 'y');
// @ts-expect-error: arrays do not have levels
torch.npz.load('x.npz', { maxDepth: 3 });
expectTypeOf(torch.jit.load(new Uint8Array(1)).to('cuda:0')).toEqualTypeOf<ScriptModule>();

// @ts-expect-error: torch.jit.load makes them
new torch.ScriptModule();
// @ts-expect-error: not a value for TorchScript
model.forward(() => 1);
// @ts-expect-error: a path or bytes
torch.jit.load(1);
