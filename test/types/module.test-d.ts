/** Checked by `npm run typecheck`, never run: the package's entry, by name and as the default export. */
import { expectTypeOf } from 'expect-type';
import type { Device, DType } from '../../types';
import torch, * as named from '../../types';

const a = torch.zeros([2, 3], { dtype: torch.int64 });
expectTypeOf(a).toEqualTypeOf<torch.Tensor<'int64', [2, 3]>>();
expectTypeOf(named.add(a, 1)).toEqualTypeOf<named.Tensor<'int64', [2, 3]>>();
expectTypeOf(torch.linalg.norm(a.float())).toEqualTypeOf<named.Tensor<'float32', []>>();
expectTypeOf(torch.linalg.norm(a as named.Tensor)).toEqualTypeOf<named.Tensor<DType, []>>();
expectTypeOf(torch.nn.functional.gelu(a)).toEqualTypeOf<typeof a>();
expectTypeOf(torch.ops.aten.add.Tensor.schema).toEqualTypeOf<string>();
expectTypeOf(torch.float32).toEqualTypeOf<'float32'>();
expectTypeOf(torch.sparseCoo).toEqualTypeOf<'sparse_coo'>();
expectTypeOf(a.dtype).toEqualTypeOf<'int64'>();
expectTypeOf((a as named.Tensor).dtype).toEqualTypeOf<DType>();
expectTypeOf(a.device).toEqualTypeOf<Device>();
expectTypeOf(a.shape).toEqualTypeOf<[2, 3]>();
expectTypeOf((a as named.Tensor).shape).toEqualTypeOf<number[]>();
expectTypeOf(torch.scope(() => a)).toEqualTypeOf<typeof a>();
expectTypeOf(new torch.Generator().disposed).toEqualTypeOf<boolean>();
expectTypeOf(torch.cuda.isAvailable()).toEqualTypeOf<boolean>();
expectTypeOf(torch.cuda.memory('cuda:0')).toEqualTypeOf<named.CudaMemory>();
expectTypeOf(torch.audit.label('route', '/a', async () => 1)).toEqualTypeOf<Promise<number>>();
expectTypeOf(named.audit.label('job', 7)).toEqualTypeOf<void>();
torch.full([2], 1, { requiresGrad: true });
a.at(0, torch.slice(0, 2));
{
  using s = torch.openScope();
  s.move(a);
  expectTypeOf(s.run(async () => a)).toEqualTypeOf<Promise<typeof a>>();
  expectTypeOf(s.parent).toEqualTypeOf<named.Scope | null>();
}
{
  using token = a.share();
  expectTypeOf(torch.fromShared(token)).toEqualTypeOf<named.Tensor>();
  const posted: torch.SharedTensor = structuredClone(token);
  torch.fromShared(posted);
  expectTypeOf(torch.memory().tokens).toEqualTypeOf<number>();
}
// @ts-expect-error: only tokens are sent to threads
torch.fromShared(a);
class Holder {
  get [torch.tensors](): unknown {
    return a;
  }
}
expectTypeOf(torch.keep(new Holder())).toEqualTypeOf<Holder>();
(async () => {
  await using s = torch.openScope();
  s.close();
})();
// @ts-expect-error: unknown option, although the hand-written function takes any
torch.full([2], 1, { typo: 1 });
// @ts-expect-error: no such name
torch.nothing;
// @ts-expect-error: no such namespace
torch.linear.norm(a);
