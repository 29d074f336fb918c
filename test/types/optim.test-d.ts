/** Checked by `npm run typecheck`, never run: the groups of optimizers, and optimizers of one's own. */
import { expectTypeOf } from 'expect-type';
import torch, { type Tensor } from '../../types';

const { lrScheduler, swaUtils } = torch.optim;
const w = torch.ones([2], { requiresGrad: true });

// Every option of a group has a value, at any strictness.
const adam = new torch.optim.Adam([w]);
for (const group of adam.paramGroups) {
  expectTypeOf(group.params).toEqualTypeOf<Tensor[]>();
  expectTypeOf(group.lr).toEqualTypeOf<number>();
  expectTypeOf(group.betas).toEqualTypeOf<readonly [number, number]>();
  expectTypeOf(group.weightDecay).toEqualTypeOf<number>();
}
expectTypeOf<torch.optim.ParamGroup<{ eps?: number | undefined }>['eps']>().toEqualTypeOf<number>();
expectTypeOf(adam.defaults.eps).toEqualTypeOf<number>();

// The optimizer of docs/optim.md is an optimizer wherever any one is taken.
class Lion extends torch.optim.Optimizer<{ lr: number; beta: number }> {
  protected override begin(p: Tensor, { beta }: { beta: number }) {
    return { average: p.zerosLike().add(beta) };
  }

  protected override update(p: Tensor, grad: Tensor, state: { average: Tensor }, group: { lr: number; beta: number }) {
    p.sub_(state.average.mul(group.beta).add(grad).sign(), { alpha: group.lr });
  }
}
const lion = new Lion([w], { lr: 0.1, beta: 0.9 });
const any: torch.optim.Optimizer = lion;
new lrScheduler.CosineAnnealingLR(lion, { TMax: 10 });
new lrScheduler.ReduceLROnPlateau(lion);
new swaUtils.SWALR(any, 0.1);
// The first arguments by position, the others by name.
new lrScheduler.LinearLR(any, 0.1, 1, { totalIters: 5 });
new lrScheduler.LinearLR(any, undefined, { totalIters: 5 });
new lrScheduler.StepLR(any, 30, 0.5, { lastEpoch: -1 });
new lrScheduler.CyclicLR(any, 0.1, 0.2, { mode: 'triangular2' });
new lrScheduler.OneCycleLR(any, 0.1, 100, { pctStart: 0.2 });
new swaUtils.SWALR(any, 0.1, 5, { annealStrategy: 'linear' });
// @ts-expect-error: no stepSize
new lrScheduler.StepLR(any, { gamma: 0.1 });
// @ts-expect-error: no such name
new lrScheduler.LinearLR(any, 0.1, 1, { gamma: 5 });
new torch.amp.GradScaler().step(lion);
expectTypeOf(lion.paramGroups[0]!.beta).toEqualTypeOf<number>();
new torch.optim.Adam([w]) satisfies torch.optim.Optimizer;
// @ts-expect-error: not an optimizer
new lrScheduler.CosineAnnealingLR({ step() {} }, { TMax: 10 });

// Every scheduler but the one of a metric.
let scheduler: torch.optim.lrScheduler.Scheduler = new lrScheduler.StepLR(any, 30);
scheduler = new lrScheduler.SequentialLR(any, [new lrScheduler.LinearLR(any), new lrScheduler.ConstantLR(any)], [5]);
scheduler = new lrScheduler.ChainedScheduler([new lrScheduler.LinearLR(any)]);
scheduler = new swaUtils.SWALR(any, 0.1);
scheduler.step();
// @ts-expect-error: its step takes a metric
scheduler = new lrScheduler.ReduceLROnPlateau(any);

// LBFGS needs a closure, whose loss its step returns.
const lbfgs = new torch.optim.LBFGS([w]);
lbfgs satisfies torch.optim.Optimizer;
expectTypeOf(lbfgs.step(() => w.sum().item())).toEqualTypeOf<number>();
// @ts-expect-error: no closure
lbfgs.step();
