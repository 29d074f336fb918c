/** Checked by `npm run typecheck`, never run: the types of torch.autograd.functional and torch.utils.checkpoint. */
import { expectTypeOf } from 'expect-type';
import torch, { type Tensor } from '../../types';

const { hessian, hvp, jacobian, jvp, vhp, vjp } = torch.autograd.functional;
const { checkpoint, checkpointSequential } = torch.utils.checkpoint;
const a = torch.ones([2, 3]);
const b = torch.ones([4], { dtype: 'float64' });
const any: Tensor = a;

// A tensor or an array, in and out; shapes are those of result and input.
expectTypeOf(jacobian((x) => x.sum(1), a)).toEqualTypeOf<Tensor<'float32', [2, 2, 3]>>();
expectTypeOf(jacobian((x, y) => x.sum().mul(y), [a, b])[1]).toExtend<Tensor<'float64'>>();
expectTypeOf(jacobian((x) => [x, x.sum()], a)[0]).toEqualTypeOf<Tensor<'float32', [2, 3, 2, 3]>>();
expectTypeOf(jacobian((x) => [x, x], [a])[1]![0]).toExtend<Tensor>();
expectTypeOf(jacobian((x: Tensor): Tensor => x.exp(), any)).toExtend<Tensor>();
jacobian((x: any) => x.mul(2), JSON.parse('null')); // of inputs that are any
expectTypeOf(hessian((x) => x.sum(), b)).toEqualTypeOf<Tensor<'float64', [4, 4]>>();
expectTypeOf(hessian((x, y) => x.sum().mul(y.sum()), [a, b])[1][0]).toEqualTypeOf<Tensor<'float32', [4, 2, 3]>>();

// The vector by position or by name.
expectTypeOf(vjp((x) => x.sum(1), a, torch.ones([2]))[1]).toEqualTypeOf<Tensor<'float32', [2, 3]>>();
expectTypeOf(jvp((x) => x.sum(1), a, { v: a, strict: true })[1]).toEqualTypeOf<Tensor<'float32', [2]>>();
expectTypeOf(vhp((x) => x.sum(), a, a, { createGraph: true })[0]).toEqualTypeOf<Tensor<'float32', []>>();
expectTypeOf(hvp((x, y) => x.sum().mul(y.sum()), [a, b], [a, b])[1][1]).toEqualTypeOf<Tensor<'float64', [4]>>();
vjp((x) => x.sum(), a, undefined, { createGraph: undefined });

// @ts-expect-error: not a function
jacobian(a, a);
// @ts-expect-error: not a tensor
jacobian((x: Tensor) => x, 5);
// @ts-expect-error: a number is not a result
jacobian(() => 5, a);
// @ts-expect-error: PyTorch's name of createGraph
jacobian((x) => x, a, { create_graph: true });
// @ts-expect-error: not here
jacobian((x) => x, a, { strategy: 'forward-mode' });
// @ts-expect-error: the result of a Hessian's function is one tensor
hessian((x) => [x.sum()], a);

// The function's own result, with options or without.
expectTypeOf(checkpoint((x) => x.sum(1), a)).toEqualTypeOf<Tensor<'float32', [2]>>();
expectTypeOf(checkpoint((x) => x.sum(1), a, { useReentrant: false })).toEqualTypeOf<Tensor<'float32', [2]>>();
expectTypeOf(checkpoint((x: Tensor) => x.exp(), any, { preserveRngState: false })).toExtend<Tensor>();
expectTypeOf(checkpoint((x, n) => [x.mul(n), n] as const, a, 3)[1]).toEqualTypeOf<number>();
expectTypeOf(checkpoint(() => a, { useReentrant: false })).toExtend<Tensor>();
expectTypeOf(checkpointSequential([(x) => x.exp(), (x: Tensor) => x.sin()], 2, a)).toExtend<Tensor>();

// @ts-expect-error: not a function
checkpoint(5, a);
// @ts-expect-error: the function takes a tensor
checkpoint((x: Tensor) => x, 'a');
// @ts-expect-error: not an option
checkpointSequential([(x) => x], 1, a, { segments: 2 });

// Gradients are tensors, unless unused inputs are allowed.
const { grad } = torch.autograd;
expectTypeOf(grad(a.sum(), a)).toEqualTypeOf<[typeof a]>();
expectTypeOf(grad(a, [a, b], { gradOutputs: a, createGraph: true })[1]).toEqualTypeOf<typeof b>();
expectTypeOf(grad(a, a, a, true, { createGraph: true })[0]).toEqualTypeOf<typeof a>();
expectTypeOf(grad(a, new Set([a]))[0]).toEqualTypeOf<Tensor>();
expectTypeOf(grad(a, [a], { gradOutputs: a, isGradsBatched: true })[0]).toEqualTypeOf<Tensor>();
expectTypeOf(grad({ outputs: a, inputs: [a], materializeGrads: true })[0]).toEqualTypeOf<Tensor>();
expectTypeOf(grad(a, [a, b], { allowUnused: true })[1]).toEqualTypeOf<Tensor | null>();
expectTypeOf(grad(a, [a, b], a, { allowUnused: Boolean(any) })[1]).toEqualTypeOf<Tensor | null>();
expectTypeOf(grad({ outputs: a, inputs: a, allowUnused: true })).toEqualTypeOf<(Tensor | null)[]>();
// @ts-expect-error: PyTorch's name of createGraph
grad(a, a, { create_graph: true });

// Saved tensors are tensors; a Function that saves null says so.
export class Scaled extends torch.autograd.Function {
  static override forward(ctx: torch.autograd.FunctionContext, x: Tensor, scale: Tensor) {
    ctx.saveForBackward(x, scale);
    return x.mul(scale);
  }
  static override backward(ctx: torch.autograd.FunctionContext, gradient: Tensor) {
    const [x, scale] = ctx.savedTensors;
    return [gradient.mul(scale), gradient.mul(x)];
  }
}
type Optional = torch.autograd.FunctionContext<[Tensor, Tensor | null]>;
export class Biased extends torch.autograd.Function {
  static override forward(ctx: Optional, x: Tensor, bias: Tensor | null) {
    ctx.saveForBackward(x, bias);
    return bias === null ? x : x.add(bias);
  }
  static override backward = torch.autograd.onceDifferentiable((ctx: Optional, gradient: Tensor) => {
    const [, bias] = ctx.savedTensors;
    expectTypeOf(bias).toEqualTypeOf<Tensor | null>();
    return [gradient, bias === null ? null : gradient];
  });
}
expectTypeOf(Biased.apply(a, null)).toEqualTypeOf<Tensor>();
export const saved = (ctx: torch.autograd.FunctionContext, both: Optional, x: Tensor | null) => {
  // @ts-expect-error: the context does not say that null is saved
  ctx.saveForBackward(x);
  // @ts-expect-error: the first one is a tensor
  both.saveForBackward(x, x);
};

// Options, a gradient, or both; arguments in Python's order.
a.backward({ retainGraph: true });
a.backward(a, { retainGraph: true, inputs: [a] });
a.backward(null, true, false, [a]);
a.backward(undefined, true, { createGraph: true });
// @ts-expect-error: a gradient is a tensor
a.backward(5);
// @ts-expect-error: the gradient is given twice
a.backward(a, { gradient: a });
// @ts-expect-error: not an option
a.backward({ retain_graph: true });
